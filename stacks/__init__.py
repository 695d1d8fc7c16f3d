"""One `Pulumi.<stack>.yaml` an environment, and the typed model that reads them (`settings`)."""

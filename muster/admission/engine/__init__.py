"""From a snapshot to a plan: cycles until nothing changes, with the state kept between decisions."""

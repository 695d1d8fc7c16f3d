"""A key version of Cloud KMS and its public key."""

KEY = "projects/acme-keys/locations/us-west1/keyRings/images/cryptoKeys/muster/cryptoKeyVersions/1"


# The base point of P-256 (SEC 2, 2.4.2) as a SubjectPublicKeyInfo: a valid public key.
PEM = """\
-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt
6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==
-----END PUBLIC KEY-----
"""

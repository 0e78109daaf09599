"""Makes a long chain of certificates: long_chain.py FILE SHAPE COUNT.

Writes FILE.chain.pem, the server's certificate first, FILE.key and FILE.root.pem, the last one's issuer, which signs itself.
A SHAPE says what the COUNT certificates after the server's are called, and how they are ordered:

    line     each has a name of its own, and stands before the one that has signed it
    names    there are two names, and each certificate stands as far as can be before the one that has signed it: who
             looks for a signer by its name has to try all that are left
"""

import datetime
import ipaddress
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NOW = datetime.datetime.now(datetime.timezone.utc)


def name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def certificate(subject, key, issuer, issuer_key, is_authority):
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - datetime.timedelta(days=1))
        .not_valid_after(NOW + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if not is_authority:
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def main():
    file, shape, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(count + 2)]

    def called(number):
        if number == count + 1:
            return "root"
        return f"{number}" if shape == "line" or number == 0 else "ab"[number % 2]

    shown = [
        certificate(called(number), keys[number], called(number + 1), keys[number + 1], number > 0)
        for number in range(count + 1)
    ]
    if shape == "names":
        shown[1:] = shown[:0:-1]
    with open(f"{file}.chain.pem", "wb") as target:
        target.write(b"".join(shown))
    with open(f"{file}.root.pem", "wb") as target:
        target.write(certificate("root", keys[-1], "root", keys[-1], True))
    with open(f"{file}.key", "wb") as target:
        target.write(
            keys[0].private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )


main()

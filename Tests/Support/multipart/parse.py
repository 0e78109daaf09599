"""Parses a multipart/form-data body with every parser there is, and prints as JSON what each makes of it.

Usage: parse.py CONTENT_TYPE FILE

The output is an object: for each parser a list of parts in their order, each with `name`, `fileName`, `type`, `length`
and `sha256`, or a text that says why the parser refused the body.
"""

import email.parser
import email.policy
import hashlib
import io
import json
import sys

import multipart
import python_multipart
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

PIECE = 65536
LIMIT = 1 << 40  # none of the parsers' own limits is what is tested


def described(name, file_name, media_type, content):
    return {
        "name": name,
        "fileName": file_name,
        "type": media_type,
        "length": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def boundary_of(content_type):
    return parse_options_header(content_type)[1]["boundary"]


def with_werkzeug(content_type, body):
    decoder = MultipartDecoder(boundary_of(content_type).encode(), None)
    stream, parts, head, content = io.BytesIO(body), [], None, bytearray()
    while True:
        event = decoder.next_event()
        if isinstance(event, NeedData):
            decoder.receive_data(stream.read(PIECE) or None)
        elif isinstance(event, (Field, File)):
            head, content = event, bytearray()
        elif isinstance(event, Data):
            content += event.data
            if not event.more_data:
                file_name = head.filename if isinstance(head, File) else None
                parts.append(described(head.name, file_name, head.headers.get("Content-Type"), bytes(content)))
        elif isinstance(event, Epilogue):
            return parts


def with_multipart(content_type, body):
    parser = multipart.MultipartParser(
        io.BytesIO(body), boundary_of(content_type), content_length=len(body), strict=True, part_limit=LIMIT,
        header_limit=32, memory_limit=LIMIT, disk_limit=LIMIT, partsize_limit=LIMIT, spool_limit=LIMIT)
    parts = []
    for part in parser:
        # It makes up a type where there is none.
        media_type = dict(part.headerlist).get("Content-Type")
        parts.append(described(part.name, part.filename, media_type, part.raw))
    return parts


def with_python_multipart(content_type, body):
    parts = []

    def text(value):
        return value.decode() if isinstance(value, bytes) else value

    def on_field(field):
        parts.append(described(text(field.field_name), None, text(field.content_type), field.value or b""))

    def on_file(file):
        file.file_object.seek(0)
        content = file.file_object.read()
        parts.append(described(text(file.field_name), text(file.file_name), text(file.content_type), content))

    parser = python_multipart.FormParser(
        "multipart/form-data", on_field, on_file, boundary=boundary_of(content_type),
        config={"MAX_MEMORY_FILE_SIZE": LIMIT, "MAX_BODY_SIZE": float("inf")})
    for start in range(0, len(body), PIECE):
        parser.write(body[start : start + PIECE])
    parser.finalize()
    return parts


def with_email(content_type, body):
    def text(value):
        return None if value is None else value.encode("utf-8", "surrogateescape").decode()

    head = b"Content-Type: " + content_type.encode() + b"\r\n\r\n"
    message = email.parser.BytesParser(policy=email.policy.compat32).parsebytes(head + body)
    if message.defects:
        raise ValueError(repr(message.defects))
    parts = []
    for part in message.get_payload():
        # Its own accessors stumble over bytes that are not ASCII; the raw field does not.
        raw = dict(part.raw_items())["Content-Disposition"]
        field = email.message.Message(policy=email.policy.compat32)
        field.set_raw("Content-Disposition", text(raw))
        parts.append(
            described(
                field.get_param("name", header="content-disposition"),
                field.get_param("filename", header="content-disposition"), part["Content-Type"],
                part.get_payload(decode=True)))
    return parts


PARSERS = {
    "werkzeug": with_werkzeug,
    "multipart": with_multipart,
    "python-multipart": with_python_multipart,
    "email": with_email,
}


def main():
    content_type, path = sys.argv[1:]
    with open(path, "rb") as file:
        body = file.read()
    results = {}
    for name, parse in PARSERS.items():
        try:
            results[name] = parse(content_type, body)
        except Exception as error:  # whatever a parser throws is what the test wants to see
            results[name] = f"{type(error).__name__}: {error}"
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()

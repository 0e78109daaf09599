/// Answers of real servers, as they were recorded; each carries the mark of its exchange in place of some of its text.
enum Corpus {
    static func answer(_ random: inout Random, mark: ExchangeMark) -> [UInt8] {
        let (head, body) = random.pick(recorded)
        let text = body.joined(separator: "\r\n").replacing("MARK", with: mark.text)
        let fields = head.map { $0.replacing("LENGTH", with: "\(text.utf8.count)").replacing("MARK", with: mark.text) }
        return Array((fields.joined(separator: "\r\n") + "\r\n\r\n" + text).utf8)
    }

    private static let recorded: [([String], [String])] = [
        (
            [
                "HTTP/1.1 403 Forbidden", "Server: nginx/1.22.1", "Date: Sun, 22 Nov 2026 18:13:57 GMT",
                "Content-Type: text/html", "Content-Length: LENGTH", "Connection: keep-alive",
            ],
            [
                "<html>", "<head><title>403 Forbidden</title></head>", "<body>", "<center><h1>MARK</h1></center>",
                "<hr><center>nginx/1.22.1</center>", "</body>", "</html>", "",
            ]
        ),
        (
            [
                "HTTP/1.1 200 OK", "Server: gunicorn", "Date: Sun, 22 Nov 2026 18:13:57 GMT", "Connection: keep-alive",
                "Transfer-Encoding: chunked", "Content-Type: application/json", "Access-Control-Allow-Origin: *",
            ],
            ["3a", "{\"url\": \"/stream/2\", \"id\": \"MARK\"}\n", "24", "{\"MARK\"}", "0", "", ""]
        ),
        (
            [
                "HTTP/1.1 302 FOUND", "Server: gunicorn", "Content-Type: text/html; charset=utf-8",
                "Content-Length: LENGTH",
                "Location: /cookies", "Set-Cookie: a=b; Path=/", "Access-Control-Allow-Credentials: true",
            ],
            ["<!doctype html>\n<html lang=en>\n<title>MARK</title>\n<h1>Redirecting...</h1>\n"]
        ),
        (
            [
                "HTTP/1.1 401 UNAUTHORIZED", "Server: gunicorn", "Content-Length: LENGTH",
                "WWW-Authenticate: Digest realm=\"me@kennethreitz.com\", nonce=\"460da549dc9821072c6cec425d6cc2d7\", "
                    + "opaque=\"21c74287b309c69bb49ba71350124c3a\", qop=\"auth\", algorithm=MD5, stale=False",
                "Set-Cookie: stale_after=never; Path=/",
            ],
            [""]
        ),
        (
            [
                "HTTP/1.1 200 OK", "Content-Type: application/octet-stream", "ETag: range20", "Accept-Ranges: bytes",
                "Content-Length: LENGTH", "Content-Range: bytes 0-31/32",
            ],
            ["MARK"]
        ),
        (
            [
                "HTTP/1.1 100 Continue", "", "HTTP/1.1 200 OK", "Date: Sun, 22 Nov 2026 18:13:57 GMT",
                "Content-Length: LENGTH",
            ],
            ["MARK"]
        ),
    ]
}

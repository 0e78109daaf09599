import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct ResumeValidatorTests {
    private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"

    struct Row: Sendable {
        let headers: HTTPHeaders
        let validator: ResumeValidator?
    }

    static let rows: [Row] = [
        Row(headers: ["ETag": "\"abc\""], validator: .entityTag("\"abc\"")),
        Row(headers: ["ETag": "\"\""], validator: .entityTag("\"\"")),
        Row(headers: ["ETag": "\"a,b\u{e9}\""], validator: .entityTag("\"a,b\u{e9}\"")),
        Row(headers: ["ETag": "W/\"abc\""], validator: nil), Row(headers: ["ETag": "w/\"abc\""], validator: nil),
        Row(headers: ["ETag": "abc"], validator: nil), Row(headers: ["ETag": "\""], validator: nil),
        Row(headers: ["ETag": "\"a b\""], validator: nil), Row(headers: ["ETag": "\"a\"b\""], validator: nil),
        Row(
            headers: [HTTPHeader(name: "ETag", value: "\"a\""), HTTPHeader(name: "ETag", value: "\"b\"")],
            validator: nil),
        Row(headers: [:], validator: nil), Row(headers: ["Last-Modified": modified], validator: nil),
        Row(headers: ["Last-Modified": modified, "Date": modified], validator: nil),
        Row(headers: ["Last-Modified": modified, "Date": "Sun, 06 Nov 1994 08:50:36 GMT"], validator: nil),
        Row(
            headers: ["Last-Modified": modified, "Date": "Sun, 06 Nov 1994 08:50:37 GMT"],
            validator: .lastModified(modified)),
        Row(headers: ["Last-Modified": modified, "Date": "Sat, 05 Nov 1994 08:50:37 GMT"], validator: nil),
        Row(headers: ["Last-Modified": modified, "Date": "soon"], validator: nil),
        Row(headers: ["Last-Modified": "long ago", "Date": "Sun, 06 Nov 1994 09:50:37 GMT"], validator: nil),
        // A date is not used if there is an entity tag, even a weak one.
        Row(
            headers: ["ETag": "W/\"a\"", "Last-Modified": modified, "Date": "Mon, 07 Nov 1994 08:49:37 GMT"],
            validator: nil),
        Row(
            headers: ["ETag": "\"a\"", "Last-Modified": modified, "Date": "Mon, 07 Nov 1994 08:49:37 GMT"],
            validator: .entityTag("\"a\"")),
    ]

    @Test(arguments: rows)
    func `only a strong validator is used`(_ row: Row) throws {
        #expect(ResumeValidator(try response(row.headers)) == row.validator)
    }

    @Test(
        arguments: [
            (.entityTag("\"a\""), [:], false), (.entityTag("\"a\""), ["ETag": "\"a\""], false),
            (.entityTag("\"a\""), ["ETag": "\"A\""], true), (.entityTag("\"a\""), ["ETag": "W/\"a\""], true),
            (.entityTag("\"a\""), ["Last-Modified": modified], false), (.lastModified(modified), [:], false),
            (.lastModified(modified), ["Last-Modified": modified], false),
            (.lastModified(modified), ["Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT"], false),
            (.lastModified(modified), ["Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"], true),
            (.lastModified(modified), ["Last-Modified": "today"], true),
            (.lastModified(modified), ["ETag": "\"a\""], false),
        ] as [(ResumeValidator, HTTPHeaders, Bool)])
    func `another validator prevents resuming, and a missing validator does not`(
        _ validator: ResumeValidator, headers: HTTPHeaders, isContradicted: Bool
    ) throws {
        #expect(validator.isContradicted(by: try response(headers)) == isContradicted)
    }

    private func response(_ headers: HTTPHeaders) throws -> HTTPResponse {
        HTTPResponse(url: try #require(URL(string: "https://example.com/")), statusCode: 200, headers: headers)
    }
}

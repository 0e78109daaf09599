import Testing

@testable import Bluebonnet

struct ChallengeTests {
    @Test(arguments: [
        ([], "[]"),
        ([""], "[]"),
        ([" , ,"], "[]"),
        (["Basic"], "[basic]"),
        (["Basic realm=\"a\""], "[basic realm=a]"),
        (["BASIC REALM = \"a, b\" , charset=UTF-8"], "[basic realm=a, b charset=UTF-8]"),
        (
            ["Digest realm=\"a\\\"b\", qop=\"auth, auth-int\", Basic realm=x"],
            "[digest realm=a\"b qop=auth, auth-int][basic realm=x]"
        ),
        (["Negotiate, NTLM, Basic realm=\"\""], "[negotiate][ntlm][basic realm=]"),
        (["Negotiate YII+/==", "NTLM TlRMTVNTUAAC="], "[negotiate YII+/==][ntlm TlRMTVNTUAAC=]"),
        (["Negotiate YII, Basic realm=a"], "[negotiate YII][basic realm=a]"),
        (["realm=\"a\", Basic"], "[basic]"),
        (["Basic realm=\"never closed"], "[basic realm=never closed]"),
        (["\"odd\", Basic realm=a"], "[basic realm=a]"),
        (
            ["Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\""],
            "[newauth realm=apps type=1 title=Login to \"apps\"][basic realm=simple]"
        ),
        (["Digest algorithm=SHA-256;x"], "[digest algorithm=SHA-256;x]"),
    ])
    func `challenges are parsed`(values: [String], expected: String) {
        let text = Challenge.parse(values).map { challenge in
            let words =
                [challenge.scheme] + [challenge.token].compactMap(\.self)
                + challenge.parameters.map { "\($0.name)=\($0.value)" }
            return "[" + words.joined(separator: " ") + "]"
        }
        #expect((text.isEmpty ? "[]" : text.joined()) == expected)
    }

    private typealias Reason = RequestError.AuthenticationReason

    private static func second(of values: [String]) -> Challenge { Challenge.parse(values)[1] }

    @Test(
        arguments: [
            ([], [.basic, .digest], false, .deliver),
            (["Bearer"], [.basic, .digest], false, .deliver),
            (["Basic realm=a"], [], false, .deliver),
            (["Basic realm=a"], [.digest], false, .deliver),
            (["Basic realm=a"], [.basic], true, .answer),
            (["Digest nonce=a"], [.digest], true, .answer),
            (["Digest nonce=a, algorithm=MD5"], [.digest], true, .answer),
            (["Digest nonce=a, algorithm=md5-SESS"], [.digest], true, .answer),
            (["Digest nonce=a, algorithm=SHA-256"], [.digest], true, .answer),
            (["Digest nonce=a, algorithm=\"SHA-256-sess\""], [.digest], true, .answer),
            (["Digest algorithm=SHA-512"], [.digest], false, .refuse(.unsupportedDigestAlgorithm("SHA-512"))),
            (["Digest algorithm=SHA-512-256"], [.digest], false, .refuse(.unsupportedDigestAlgorithm("SHA-512-256"))),
            (["Digest algorithm=SHA-512-256"], [.basic], false, .deliver),
            // Libcurl uses only the first Digest challenge.
            (
                ["Digest algorithm=SHA-512-256", "Digest algorithm=MD5"], [.digest], false,
                .answerDigest(second(of: ["Digest algorithm=SHA-512-256", "Digest algorithm=MD5"]))
            ),
            (
                ["Digest algorithm=SHA-512-256, Digest algorithm=MD5"], [.digest], false,
                .answerDigest(second(of: ["Digest algorithm=SHA-512-256, Digest algorithm=MD5"]))
            ),
            (
                ["Digest qop=auth-int", "Digest qop=\"auth-int, auth\""], [.digest], true,
                .answerDigest(second(of: ["Digest qop=auth-int", "Digest qop=\"auth-int, auth\""]))
            ),
            (
                ["Digest algorithm=SHA-512", "Digest algorithm=SHA-512-256", "Basic"], [.digest], false,
                .refuse(.unsupportedDigestAlgorithm("SHA-512"))
            ),
            (["Digest algorithm=MD5", "Digest algorithm=SHA-512-256"], [.digest], false, .answer),
            // Libcurl mixes the parameters of challenges in one field.
            (
                ["Basic, Digest algorithm=MD5, Digest algorithm=SHA-512-256"], [.digest], false,
                .answerDigest(second(of: ["Basic, Digest algorithm=MD5, Digest algorithm=SHA-512-256"]))
            ),
            (["Digest algorithm=SHA-512-256", "Basic realm=a"], [.digest, .basic], false, .answerOnly(.basic)),
            (["Digest algorithm=SHA-512, Basic realm=a, NTLM"], [.digest, .basic, .ntlm], false, .answerOnly(.ntlm)),
            (
                ["Digest algorithm=SHA-512", "Basic realm=a"], [.digest], false,
                .refuse(.unsupportedDigestAlgorithm("SHA-512"))
            ),
            (["Digest algorithm=SHA-512", "Negotiate"], [.digest, .negotiate], false, .answer),
            (["Digest qop=\"auth\""], [.digest], true, .answer),
            (["Digest qop=\"auth-int, auth\""], [.digest], true, .answer),
            (["Digest qop=auth-int"], [.digest], false, .answer),
            (["Digest qop=auth-int"], [.digest], true, .refuse(.unsupportedDigestProtection("auth-int"))),
            (["Digest qop=auth-int", "Basic realm=a"], [.digest, .basic], true, .answerOnly(.basic)),
            (["Digest qop=\"\""], [.digest], true, .answer),
            (["Digest qop=other"], [.digest], false, .refuse(.unsupportedDigestProtection("other"))),
            (["NTLM", "Basic realm=a"], [.ntlm, .basic, .digest], true, .answer),
            // Libcurl takes the name of a scheme within a value for an offer of the scheme.
            ([#"Bearer realm="x, Basic realm=y""#], [.basic, .digest], false, .answerOnly([])),
            ([#"Bearer realm="x,Basic y""#, #"Bearer realm="a, NTLM b""#], [.basic, .ntlm], false, .answerOnly([])),
            ([#"Bearer realm="x,Basically, Basic", error="Basic, no""#], [.basic], false, .deliver),
            ([#"Bearer realm="x, Basic realm=y""#], [.digest], false, .deliver),
            ([#"Basic realm="x, Digest realm=y""#], [.basic, .digest], true, .answerOnly(.basic)),
            ([#"Basic realm="x, Digest realm=y""#], [.basic], true, .answer),
            ([#"Digest realm="x, Basic realm=y""#], [.basic, .digest], true, .answer),
            (
                [#"Bearer error="x, Digest nonce=a, realm=z""#, "Digest nonce=b"], [.digest], false,
                .refuse(.unsupportedScheme("Digest"))
            ),
            (
                [#"Bearer error="x, Digest nonce=a""#, "Digest nonce=b, Basic"], [.digest, .basic], false,
                .answerOnly(.basic)
            ),
            ([#"Digest realm="x, Negotiate y""#], [.digest, .negotiate], true, .answerOnly(.digest)),
        ] as [([String], Credential.Schemes, Bool, ChallengeDecision)])
    func `a challenge that libcurl handles incorrectly is handled differently or refused`(
        values: [String], schemes: Credential.Schemes, hasBody: Bool, expected: ChallengeDecision
    ) {
        let decision = ChallengeDecision.on(
            Challenge.parse(values), apparent: Challenge.apparentSchemes(in: values), schemes: schemes, hasBody: hasBody
        )
        #expect(decision == expected)
    }
}

import Bluebonnet
import Testing

struct HTTPHeaderDefaultsTests {
    @Test(arguments: [
        ([:], ["en"]),
        (["LANG": "C.UTF-8"], ["en"]),
        (["LANG": "POSIX", "LANGUAGE": "de"], ["en"]),
        (["LANG": ""], ["en"]),
        (["LANG": "de_DE.UTF-8"], ["de-DE"]),
        (["LANG": "de_DE@euro"], ["de-DE"]),
        (["LANG": "ja"], ["ja"]),
        (["LANG": "zh_Hant_TW.UTF-8"], ["zh-Hant-TW"]),
        (["LC_ALL": "fr_FR.UTF-8", "LC_MESSAGES": "it_IT", "LANG": "de_DE"], ["fr-FR"]),
        (["LC_ALL": "", "LC_MESSAGES": "it_IT", "LANG": "de_DE"], ["it-IT"]),
        (["LANG": "de_DE", "LANGUAGE": "de_AT:de::en"], ["de-AT", "de", "en", "de-DE"]),
        (["LANG": "de_DE", "LANGUAGE": "de_DE:en"], ["de-DE", "en"]),
        (["LANG": "g_g"], ["en"]),
        (["LANG": "de\r\nX: y"], ["en"]),
        (["LANG": "en", "LANGUAGE": "a1:b2:c3:d4:e5:f6:g7"], ["a1", "b2", "c3", "d4", "e5", "f6"]),
    ])
    func `languages are read from the environment`(environment: [String: String], expected: [String]) {
        #expect(HTTPHeader.languages(in: environment) == expected)
    }

    @Test(arguments: [
        ("/usr/bin/weather", "weather Bluebonnet/\(BluebonnetInfo.version)"),
        ("weather", "weather Bluebonnet/\(BluebonnetInfo.version)"),
        ("/opt/my app/wéther app", "w__ther_app Bluebonnet/\(BluebonnetInfo.version)"),
        ("", "Unknown Bluebonnet/\(BluebonnetInfo.version)"),
    ])
    func `the user agent contains the program and the library`(program: String, expected: String) {
        #expect(HTTPHeader.userAgent(program: program) == expected)
    }

    @Test func `the default fields are valid`() throws {
        try HTTPHeaders([.defaultAcceptLanguage, .defaultUserAgent]).validate()
        #expect(HTTPHeader.defaultAcceptLanguage.value.contains(";q=1.0"))
        #expect(HTTPHeader.defaultUserAgent.value.hasSuffix(" Bluebonnet/\(BluebonnetInfo.version)"))
    }
}

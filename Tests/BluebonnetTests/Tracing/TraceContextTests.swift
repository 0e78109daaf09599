import Bluebonnet
import Testing

struct TraceContextTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"

    @Test(
        arguments: [
            ("00-\(trace)-\(span)-00", "00"), ("00-\(trace)-\(span)-01", "01"), ("00-\(trace)-\(span)-03", "03"),
            // Flags that are not known are not passed on.
            ("00-\(trace)-\(span)-ff", "03"), ("00-\(trace)-\(span)-fc", "00"),
            // Later versions may have further parts.
            ("cc-\(trace)-\(span)-01", "01"), ("cc-\(trace)-\(span)-01-what-comes-next", "01"),
            ("01-\(trace)-\(span)-01-", "01"),
        ])
    func `a valid traceparent is read, and written in version 00`(_ text: String, flags: String) {
        let context = TraceContext(traceparent: text)
        #expect(context?.traceID == Self.trace && context?.spanID == Self.span)
        #expect(context?.traceparent == "00-\(Self.trace)-\(Self.span)-\(flags)")
    }

    @Test(
        arguments: [
            "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-01-x",
            "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-01", "000-\(trace)-\(span)-01", "0g-\(trace)-\(span)-01",
            "cc-\(trace)-\(span)-01.x", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-001", "00-\(trace)-\(span)-0G",
            "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span.uppercased())-01", "00-\(trace)a-\(span)-01",
            "00-\(trace.dropLast())-\(span)-01", "00-\(trace)-\(span.dropLast())-01",
            "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
            "00-\(trace)--\(span)-01", "00_\(trace)_\(span)_01", " 00-\(trace)-\(span)-01",
        ])
    func `an invalid traceparent is refused`(_ text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test func `a message has one traceparent`() {
        let text = "00-\(Self.trace)-\(Self.span)-01"
        let headers = HTTPHeaders([
            HTTPHeader(name: "Traceparent", value: text), HTTPHeader(name: "tracestate", value: "a=1"),
            HTTPHeader(name: "tracestate", value: "b=2"),
        ])
        let context = TraceContext(headers: headers)
        #expect(context?.headers["traceparent"] == text)
        #expect(context?.headers["tracestate"] == "a=1,b=2")
        var twice = headers
        twice.append(name: "traceparent", value: text)
        #expect(TraceContext(headers: twice) == nil)
        #expect(TraceContext(headers: ["tracestate": "a=1"]) == nil)
        let other = TraceContext(headers: ["traceparent": text, "tracestate": "bad"])
        #expect(other?.headers.contains("tracestate") == false)
    }

    @Test func `a new trace has no span, and each child has one of its own`() {
        let root = TraceContext.newTrace(isSampled: false)
        let children = (0..<100).map { _ in root.child() }
        #expect(!root.hasSpan && children.allSatisfy(\.hasSpan))
        #expect(Set(children.map(\.spanID)).count == 100)
        #expect(Set(children.map(\.traceID)) == [root.traceID])
        for child in children { #expect(TraceContext(traceparent: child.traceparent) == child) }
        #expect(!children[0].isSampled && children[0].child().traceparent.hasSuffix("-02"))
        #expect(TraceContext(traceparent: root.traceparent) == nil)
        #expect(TraceContext.newTrace().traceID != TraceContext.newTrace().traceID)
    }

    @Test(
        arguments: [
            (["a=1"], "a=1"), (["a=1,b=2"], "a=1,b=2"), (["a=1", "b=2"], "a=1,b=2"), ([" a=1 ,\tb=2\t"], "a=1,b=2"),
            (["", ",a=1,,", " "], "a=1"), (["a=1,b=2,a=3"], "a=1,b=2"), (["tenant@system=x y"], "tenant@system=x y"),
            (["0a_-*/@z=~!"], "0a_-*/@z=~!"), ([], ""),
            // One invalid member makes the whole state invalid.
            (["a"], ""), (["a=1,b"], ""), (["a=1,=2"], ""), (["a=1,b="], ""), (["A=1"], ""), (["_a=1"], ""),
            (["a=1=2"], ""), (["a =1"], ""), (["a=ä"], ""), (["a=1\u{7f}"], ""),
            (["\(String(repeating: "k", count: 256))=1"], "\(String(repeating: "k", count: 256))=1"),
            (["\(String(repeating: "k", count: 257))=1"], ""), (["a=\(String(repeating: "v", count: 257))"], ""),
        ])
    func `a tracestate is read as a whole or not at all`(_ fields: [String], expected: String) {
        #expect(TraceState(fields).description == expected)
        #expect(TraceState(fields).isEmpty == expected.isEmpty)
    }

    @Test func `a state has at most 32 members`() {
        let members = (1...32).map { "k\($0)=v" }
        #expect(TraceState(members)["k32"] == "v")
        #expect(TraceState(members + ["k33=v"]).isEmpty)
        var state = TraceState(members)
        state["new"] = "1"
        #expect(state["new"] == "1" && state["k31"] == "v" && state["k32"] == nil)
    }

    @Test func `a new value comes first, and an invalid one changes nothing`() {
        var state = TraceState(["a=1,b=2"])
        state["b"] = "3"
        #expect(state.description == "b=3,a=1")
        state["B"] = "4"
        state["a"] = "x,y"
        state["a=b"] = "c"
        #expect(state.description == "b=3,a=1")
        state["a"] = nil
        #expect(state.description == "b=3")
    }

    @Test func `a long state loses its long members first, and then its last`() {
        let long = "long=\(String(repeating: "x", count: 200))"
        let members = (1...16).map { "k\($0 + 10)=\(String(repeating: "v", count: 26))" }
        // 16 members of 30 characters and 15 commas are 495 characters.
        #expect(TraceState([long] + members).description == members.joined(separator: ","))
        let more = members + ["k30=\(String(repeating: "v", count: 26))"]
        #expect(TraceState(more).description == members.joined(separator: ","))
        #expect(TraceState(members + ["a=0123456789abcd"]).description.utf8.count == 512)
        #expect(TraceState(members + ["a=0123456789abcde"]).description.utf8.count == 495)
    }
}

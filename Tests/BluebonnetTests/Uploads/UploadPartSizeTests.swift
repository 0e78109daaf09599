import Testing

@testable import Bluebonnet

@Suite struct UploadPartSizeTests {
    private static let largest = 512 * 1024

    /// The sizes of the parts that libcurl receives at these times, in KiB and milliseconds.
    private func sizes(at times: [Int64], largest: Int = Self.largest) -> [Int] {
        var part = UploadPartSize()
        return times.map { time in
            defer { part.passed(now: time * 1_000_000, largest: largest) }
            return part.next(now: time * 1_000_000, largest: largest) / 1024
        }
    }

    @Test(arguments: [0, 1_000_000] as [Int64])
    func `parts grow while the connection takes them quickly, up to a limit`(start: Int64) {
        #expect(sizes(at: [0, 0, 9, 10, 10].map { start + $0 }) == [128, 256, 512, 512, 512])
    }

    @Test func `a slow part makes the next part small`() {
        #expect(sizes(at: [0, 1, 2, 12, 13, 500, 1000]) == [128, 256, 512, 128, 256, 128, 128])
    }

    @Test func `requests that receive nothing change nothing`() {
        var part = UploadPartSize()
        for time in 0..<100 { #expect(part.next(now: Int64(time), largest: Self.largest) == 128 * 1024) }
        part.passed(now: 100, largest: Self.largest)
        #expect(part.next(now: 101, largest: Self.largest) == 256 * 1024)
    }

    @Test func `parts keep their size with a libcurl that requests them early`() {
        #expect(sizes(at: [0, 0, 0, 0], largest: 128 * 1024) == [128, 128, 128, 128])
    }

    @Test func `the buffer of a long body has room for the largest part`() {
        let (small, large) = (128 * 1024, Self.largest)
        let sizes: [Int64?: Int] = [nil: large, 0: small, 1: small, 131_072: small, 131_073: large, .max: large]
        for (length, size) in sizes {
            #expect(UploadPartSize.bufferSize(forLength: length, largest: large) == size)
        }
        #expect(UploadPartSize.bufferSize(forLength: nil, largest: small) == small)
    }
}

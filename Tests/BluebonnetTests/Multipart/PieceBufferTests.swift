import FoundationEssentials
import Testing

@testable import Bluebonnet

struct PieceBufferTests {
    private let tiny = Data(repeating: 1, count: 10)
    private let large = Data(repeating: 2, count: PieceBuffer.largePiece)

    @Test func `small pieces are joined until they reach the minimum size`() {
        var buffer = PieceBuffer()
        #expect(buffer.takeReady() == nil)
        #expect(buffer.takeRest() == nil)
        for count in 1..<(PieceBuffer.fullPiece / 10 + 1) {
            buffer.append(tiny)
            #expect(buffer.takeReady() == nil, "after \(count)")
        }
        buffer.append(tiny)
        #expect(buffer.takeReady()?.count == (PieceBuffer.fullPiece / 10 + 1) * 10)
        #expect(buffer.takeRest() == nil)
    }

    @Test func `a large piece follows the joined pieces before it`() {
        var buffer = PieceBuffer()
        buffer.append(tiny)
        buffer.append(large)
        #expect(buffer.takeReady() == tiny)
        #expect(buffer.takeReady() == large)
        #expect(buffer.takeReady() == nil)
        buffer.append(large)
        #expect(buffer.takeReady() == large)
        buffer.append(tiny)
        #expect(buffer.takeReady() == nil)
        #expect(buffer.takeRest() == tiny)
        #expect(buffer.takeRest() == nil)
    }

    @Test func `appending no bytes adds no piece`() {
        var buffer = PieceBuffer()
        buffer.append(Data())
        #expect(buffer.takeReady() == nil)
        #expect(buffer.takeRest() == nil)
    }
}

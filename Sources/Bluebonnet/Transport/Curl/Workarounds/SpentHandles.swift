import CCurl
import FoundationEssentials
import Glibc

/// Frees easy handles after one transfer, where libcurl would read freed memory: before 8.1.0.
///
/// An easy handle that has received a head and is used again reads freed memory when the first field line of the next head
/// begins with a space or a tab: `data->state.prevhead` in `headers.c` outlives what it points to. The peer decides when
/// that happens.
///
/// Libcurl keeps two things in the easy handle there that are worth more than one transfer. TLS sessions move to the
/// session's share, as many as libcurl has room for in one: 8. Alternative services move through a private file, which
/// libcurl writes only for handles that have learned of one.
enum SpentHandles {
    /// Whether this libcurl has the fault.
    static let areFreed = Libcurl.version < 0x08_01_00
}

extension EasyHandle {
    /// Has the handle use alternative services that earlier handles have learned of, and those in the user's file.
    func useAltSvc(keptIn memory: AltSvcFile?, userFile: String?) {
        set(CURLOPT_ALTSVC_CTRL, Self.altSvcVersions | Int(CURLALTSVC_READONLYFILE))
        let isLearned = memory?.isWritten == true
        if let userFile, !isLearned { set(CURLOPT_ALTSVC, userFile) }
        // Libcurl reads the file if it is there, and knows its name if it is not.
        if let memory { set(CURLOPT_ALTSVC, memory.path) }
        altSvcFile = memory
    }

    /// Has libcurl write the services that the handle knows when it ends, if it has learned of one.
    func keepAltSvc(after head: ReceivedHead?) {
        guard let altSvcFile, head?.headers.contains("Alt-Svc") == true else { return }
        set(CURLOPT_ALTSVC_CTRL, Self.altSvcVersions)
        altSvcFile.isWritten = true
    }

    private static let altSvcVersions = Int(CURLALTSVC_H1 | CURLALTSVC_H2)
}

/// The file in which one easy handle leaves the alternative services it knows to the next; removed with its owner.
///
/// Belongs to the engine; never leaves the loop's thread.
// Safety: the system writes the directory's name into the array that it is given, within the call.
final class AltSvcFile {
    private let directory: String
    var path: String { directory + "/alt-svc" }
    /// Whether a handle has written it, or will before another is made.
    fileprivate(set) var isWritten = false

    /// Makes a directory that only this user can read; `nil` if that fails.
    init?() {
        var template = Array((FileSystem.temporaryDirectory + "/bluebonnet-XXXXXX").utf8CString)
        guard unsafe mkdtemp(&template) != nil else { return nil }
        directory = String(decoding: template.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        unsafe unlink(path)
        unsafe rmdir(directory)
    }
}

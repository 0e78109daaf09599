import CCurl
import CSystem

/// Makes libcurl before 8.2.0 try the next address of a host as soon as an address has failed.
///
/// These versions open the next socket when they handle the transfer the next time, but do not request this. The
/// transfer waits until the time for the failed address, half of the connect limit, has passed.
enum NextAttempts {
    /// Whether the installed libcurl has the defect.
    static let areNeeded = Libcurl.version < 0x08_02_00
}

// Safety: the handle is used only on the loop, and outside of its callbacks.
extension TransferEngine {
    /// Makes libcurl handle the transfers whose attempts have failed.
    func beginNextAttempts(in multi: MultiHandle) {
        while let id = multi.takeEndedAttempt() {
            guard let transfer = transfers[id], transfer.multi === multi, !transfer.wasSent, let easy = transfer.easy
            else { continue }
            // Each change makes libcurl handle the transfer at once. No bytes have arrived, so nothing else changes.
            unsafe curl_easy_pause(easy.pointer, bb_curl_pause_recv)
            unsafe curl_easy_pause(easy.pointer, 0)
            multi.runTimeouts(now: shared.now)
        }
    }
}

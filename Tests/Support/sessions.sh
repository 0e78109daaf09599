# shellcheck shell=bash
# Runs programs in kernel sessions of their own, so that a program and all that it starts can be stopped by one number,
# the session's id. (A process group would not do: `swift test` puts the tests into another group.) Sourced.

# start_session LOG COMMAND...: starts it in the background without standard input; its process id, in $!, is the
# session's. It is told to stop even when this shell is killed outright. An empty LOG leaves the output where it is.
start_session() {
    local log=$1
    shift
    if [[ -n $log ]]; then
        setsid setpriv --pdeathsig TERM "$@" </dev/null >"$log" 2>&1 &
    else
        setsid setpriv --pdeathsig TERM "$@" </dev/null &
    fi
}

# session_members SESSION: prints the ids of its processes that have not ended.
session_members() {
    local line fields
    for line in /proc/[0-9]*/stat; do
        read -r line 2>/dev/null <"$line" || continue # ended meanwhile
        read -r -a fields <<<"${line##*) }"            # state, parent, group, session
        [[ ${fields[3]} != "$1" || ${fields[0]} == Z ]] || echo "${line%% *}"
    done
}

# signal_sessions SIGNAL SESSION...
signal_sessions() {
    local signal=$1 session members
    shift
    for session in "$@"; do
        mapfile -t members < <(session_members "$session")
        [[ ${#members[@]} -eq 0 ]] || kill "-$signal" "${members[@]}" 2>/dev/null || true
    done
}

# stop_sessions SESSION...: asks all to stop, ends those that have not after 5 seconds.
stop_sessions() {
    local session deadline=$((SECONDS + 5))
    signal_sessions TERM "$@"
    for session in "$@"; do
        while [[ -n $(session_members "$session") ]] && ((SECONDS < deadline)); do
            sleep 0.05
        done
        signal_sessions KILL "$session"
        wait "$session" 2>/dev/null || true
    done
}

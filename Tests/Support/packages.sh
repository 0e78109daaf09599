# shellcheck shell=bash
# Installs Debian packages that are missing. Sourced by Tests/run, Snippets/run and .ci/run.

# What `swift build` needs: the headers and libraries behind CCurl, COpenSSL and CZlib.
# shellcheck disable=SC2034 # used by those that source this file
readonly BUILD_PACKAGES=(libcurl4-openssl-dev libssl-dev zlib1g-dev pkg-config)

# What programs with TLS need when they run: the system's authorities, and the command that makes certificates.
# shellcheck disable=SC2034 # used by Tests/run and Snippets/run
readonly TLS_PACKAGES=(ca-certificates openssl)

# The proxies that the tests go through, and a Kerberos realm with a web server that uses it.
# shellcheck disable=SC2034 # used by Tests/run
readonly PROXY_PACKAGES=(tinyproxy-bin microsocks haproxy)
# shellcheck disable=SC2034 # used by Tests/run
readonly KERBEROS_PACKAGES=(krb5-kdc krb5-admin-server krb5-user apache2-bin libapache2-mod-auth-gssapi)

# Prints those of the packages named that dpkg does not have installed.
missing_packages() {
    local package status
    for package in "$@"; do
        status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
        [[ $status == "install ok installed" ]] || printf '%s\n' "$package"
    done
}

# Runs a command as root, by sudo when need be.
as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
        sudo "$@"
    else
        return 1
    fi
}

# How many seconds apt-get waits for another process that has the package manager's lock.
readonly APT_LOCK_SECONDS=${APT_LOCK_SECONDS-600}

# Runs apt-get as root. It waits for dpkg's lock by an option; the locks of its lists and archives that option leaves out,
# so that it is started again while another process has one of them.
apt_get() {
    local words status deadline=$((SECONDS + APT_LOCK_SECONDS)) is_waiting=false
    while true; do
        status=0
        words=$(as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive \
            apt-get -qq -o DPkg::Lock::Timeout="$APT_LOCK_SECONDS" "$@" </dev/null 2>&1) || status=$?
        # What it did is of interest only if it failed.
        ((status != 0)) || return 0
        if ((SECONDS >= deadline)) || [[ $words != *"Could not get lock"* ]]; then
            [[ -z $words ]] || printf '%s\n' "$words" >&2
            return "$status"
        fi
        $is_waiting || echo "Waiting for another process that has the package manager's lock" >&2
        is_waiting=true
        sleep 1
    done
}

# Installs what is missing of the packages named; says what to do when it cannot.
install_packages() {
    local missing
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "note: this system has no apt-get; taken to be installed: $*" >&2
        return 0
    fi
    mapfile -t missing < <(missing_packages "$@")
    [[ ${#missing[@]} -gt 0 ]] || return 0
    echo "Installing ${missing[*]}" >&2
    if ! as_root true; then
        echo "error: neither root nor able to use sudo; please run: apt-get install ${missing[*]}" >&2
        return 1
    fi
    # The list of packages may be missing or old; it is fetched only when there is something to install.
    if ! apt_get update || ! apt_get install -y --no-install-recommends "${missing[@]}"; then
        echo "error: apt-get could not install: ${missing[*]}" >&2
        return 1
    fi
}

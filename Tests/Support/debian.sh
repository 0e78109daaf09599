# shellcheck shell=bash
# Fetches packages of another Debian release. Sourced by Tests/Support/with-libcurl and with-swift.

# Prints the address of the system's Debian mirror.
mirror() {
    local codename release component address
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    while read -r release component address; do
        # The first is the system's own, as its release is named after the system and its component `main`.
        if [[ $component == main && ($release == "$codename" || $release == stable || $release == sid) ]]; then
            echo "$address"
            return
        fi
        # shellcheck disable=SC2016 # apt-get replaces these
    done < <(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages')
    echo "error: apt is not configured with a mirror of Debian for $codename" >&2
    return 1
}

# configure_apt FOLDER RELEASE: writes a configuration with lists, archives and a status of its own to FOLDER/apt.conf.
# It is read after the system's, whose keys and proxies stay.
configure_apt() {
    local folder=$1 release=$2 address keyring=/usr/share/keyrings/debian-archive-keyring.gpg options=""
    address=$(mirror)
    [[ ! -r $keyring ]] || options="[signed-by=$keyring] "
    mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial"
    : >"$folder/status" # nothing is installed: all dependencies are fetched
    echo "deb $options$address $release main" >"$folder/sources.list"
    cat >"$folder/apt.conf" <<CONFIGURATION
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
Dir::Etc::SourceList "$folder/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$folder/state";
Dir::State::Status "$folder/status";
Dir::Cache "$folder/cache";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
APT::Default-Release "";
CONFIGURATION
}

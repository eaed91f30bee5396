# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Downloads packages of Debian's releases and architectures without installing them and without
# privileges. scripts/drivers and scripts/test-aarch64 source this file.

# All packages come from the archive that serves the installed release.
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
archive=$(apt-get indextargets --format '$(RELEASE) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
  awk -v own="$release" '$1 == own || $2 == own { print $NF; exit }')
if [ -z "$archive" ]; then
  echo "error: expected an archive of ${release:-this release} among apt's sources, found none" >&2
  exit 1
fi

# private_apt STATE ARGUMENT …: runs apt with private package lists and an empty package database.
private_apt() {
  state=$1
  shift
  apt-get -qq --no-install-recommends \
    -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
    -o Dir::State="$state" -o Dir::State::Lists="$state/lists" -o Dir::State::Status="$state/status" \
    -o Dir::Cache="$state" -o Dir::Cache::Archives="$state/packages" \
    -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none "$@"
}

# begin_archive STATE SUITE [OPTION …]: fetches the package lists of SUITE. Apt is called with the
# options.
begin_archive() {
  state=$1
  mkdir -p "$state/lists/partial" "$state/packages/partial"
  : > "$state/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $2 main" > "$state/sources.list"
  shift 2
  private_apt "$state" "$@" update
}

// Package version says which build this is.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Version is set by the release build; a build from a checkout is "dev".
var Version = "dev"

// Commit is set by the release build; a build from a checkout knows it from git.
var Commit string

// Info describes a build.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

// Get returns what this binary is.
func Get() Info {
	return Info{Version: Version, Commit: cmp.Or(Commit, commitOfCheckout()), Go: runtime.Version()}
}

// commitOfCheckout is what Go has written into a binary that it built in a repository.
func commitOfCheckout() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}

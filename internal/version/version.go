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

// Date is when that was committed (RFC 3339), and is known as Commit is.
var Date string

// Image is the manager's of this version. The release build sets it to the repository that it pushes to; empty: none is known.
var Image string

// Info describes a build.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Date is when the commit was made. When the build was made is in no build: two of one commit are the same.
	Date string `json:"date,omitempty"`
	// Modified is true where the checkout differed from its commit.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// Get returns what this binary is.
func Get() Info {
	build, _ := debug.ReadBuildInfo()
	return of(build)
}

// of is what is known of a build: what was set, or else what Go has written into a binary that it built in a repository; nil: it
// has written nothing.
func of(build *debug.BuildInfo) Info {
	info := Info{Version: Version, Commit: Commit, Date: Date, Go: runtime.Version()}
	if build == nil || Commit != "" {
		return info
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Commit = setting.Value
		case "vcs.time":
			info.Date = cmp.Or(info.Date, setting.Value)
		case "vcs.modified":
			info.Modified = setting.Value == "true"
		}
	}
	return info
}

// Package version describes this build.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Version is set by the release build. A build from a checkout is "dev".
var Version = "dev"

// Commit is set by the release build. A build from a checkout gets it from git.
var Commit string

// Date is the time of the commit (RFC 3339), from the same source as Commit.
var Date string

// Image is the manager image of this version. The release build sets it to the repository that it pushes to. Empty means
// unknown.
var Image string

// Info describes a build.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Date is the time of the commit. The build has no time of its own, so that two builds of one commit are equal.
	Date string `json:"date,omitempty"`
	// Modified is true if the checkout differed from its commit.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// Get returns the description of this binary.
func Get() Info {
	build, _ := debug.ReadBuildInfo()
	return of(build)
}

// of returns the description of a build: the values that the release build set, or those that Go recorded for a build in a
// repository. build may be nil.
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

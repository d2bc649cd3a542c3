// Package version says which build this is.
package version

import (
	"runtime"
	"runtime/debug"
)

// Version is set by the release build; a build from a checkout is "dev".
var Version = "dev"

// Info describes a build.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

// Get returns what this binary is.
func Get() Info {
	info := Info{Version: Version, Go: runtime.Version()}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				info.Commit = setting.Value
			}
		}
	}
	return info
}

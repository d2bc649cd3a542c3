package version

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOf: a release has the values that were set, a build from a checkout has those that Go recorded, and any other build
// has neither.
func TestOf(t *testing.T) {
	checkout := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-27T03:06:21Z"}, {Key: "vcs.modified", Value: modified}}}
	}
	for name, tc := range map[string]struct {
		version, commit, date string
		build                 *debug.BuildInfo
		want                  Info
	}{
		"a release":                   {"v1.2.0", "def", "2026-11-26T00:00:00Z", checkout("true"), Info{Version: "v1.2.0", Commit: "def", Date: "2026-11-26T00:00:00Z"}},
		"a checkout":                  {"dev", "", "", checkout("false"), Info{Version: "dev", Commit: "abc", Date: "2026-11-27T03:06:21Z"}},
		"a checkout, with changes":    {"dev", "", "", checkout("true"), Info{Version: "dev", Commit: "abc", Date: "2026-11-27T03:06:21Z", Modified: true}},
		"Go has noted nothing":        {"dev", "", "", &debug.BuildInfo{}, Info{Version: "dev"}},
		"there is nothing to look at": {"dev", "", "", nil, Info{Version: "dev"}},
	} {
		version, commit, date := Version, Commit, Date
		Version, Commit, Date = tc.version, tc.commit, tc.date
		tc.want.Go = runtime.Version()
		if diff := cmp.Diff(tc.want, of(tc.build)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		Version, Commit, Date = version, commit, date
	}
}

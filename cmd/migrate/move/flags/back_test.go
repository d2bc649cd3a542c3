package flags

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestBack: the flags of the reverse move are those of the original move, except settings of one side. Parsing them
// yields the same specs.
func TestBack(t *testing.T) {
	for given, want := range map[string]string{
		"--volume data=rebind":                    "",
		"--volume data=copy,image=m":              "--volume data=copy,image=m",
		"--volume data=snapshot":                  "--volume data=snapshot",
		"--shared data":                           "--shared data",
		"--storage-class data=fast":               "--storage-class data=CLASS",
		"--volume data=snapshot,size=5Gi,class=c": "--volume data=snapshot",
		"--volume data=empty,fills-from-peers,ready-when-filled,returns-to-kept":                                                                          "--volume data=empty,fills-from-peers,ready-when-filled",
		"--volume data=copy,image=m,size=5Gi,transport=auto,warm=auto,verify=full,cutover=manual":                                                         "--volume data=copy,image=m,verify=full",
		"--volume data=copy,image=m,service=export":                                                                                                       "--volume data=copy,image=m,service=export",
		"--volume data=copy,image=m,address=gate:1,service=node-port":                                                                                     "--volume data=copy,image=m,service=node-port,address=HOST:PORT",
		"--volume data=copy,image=m,transport=relay,bandwidth=50Mi,run-as=7:8,warm=none,downtime=2m0s,limit=5m0s,prefetch=2,verify=changed,devices=allow": "--volume data=copy,image=m,transport=relay,bandwidth=50Mi,run-as=7:8,warm=none,downtime=2m0s,limit=5m0s,prefetch=2,verify=changed,devices=allow",
		"--volume data=copy,image=m,run-as=7 --volume logs=empty":                                                                                         "--volume data=copy,image=m,run-as=7 --volume logs=empty",
	} {
		asked, err := parseSpec(strings.Fields(given)...)
		if err != nil {
			t.Fatal(err)
		}
		back := Back(asked.Volumes)
		if got := strings.Join(back, " "); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
		if given != want {
			continue
		}
		again, err := parseSpec(back...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(asked.Volumes, again.Volumes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", given, diff)
		}
	}
	if got := Back([]api.VolumeSpec{{ClaimTemplate: "data", Method: "another"}}); got != nil {
		t.Errorf("of a method that is not known: %q", got)
	}
}

package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// on returns a claim with a volume; with an empty name it has no volume yet.
func on(claim, volume string) volumes.Holding {
	h := volumes.Holding{Ref: volumes.Ref{Namespace: "team", Name: claim}, Claim: volumes.Claim{Found: true, UID: types.UID(claim)}}
	if volume == "" {
		return h
	}
	h.Claim.Phase, h.Claim.Volume = corev1.ClaimBound, volume
	h.Volume = volumes.Volume{Found: true, Name: volume, ClaimRef: volumes.Ref{Namespace: "team", Name: claim, UID: types.UID(claim)}}
	return h
}

// way returns a volume of ordinal 0 at the source. incoming is the volume filled for the destination, taken the
// volume of the destination's claim.
func way(template string, method api.VolumeMethod, incoming, taken string) plan.OrdinalVolume {
	v := plan.OrdinalVolume{Template: template, Method: method, Source: on(template+"-web-0", "old-"+template), Destination: on(template+"-web-0", taken)}
	if method == api.MethodCopy || method == api.MethodSnapshot {
		v.Copy = &volumes.Copying{Incoming: on("in-"+template, incoming)}
	}
	return v
}

// placed sets whether a volume is created only where a pod will run, or at once.
func placed(v plan.OrdinalVolume, waits bool) plan.OrdinalVolume {
	v.Copy.WaitsForPod = waits
	return v
}

// besides returns volumes; those of the templates in ahead are filled while their ordinals run.
func besides(all []plan.OrdinalVolume, handoff *api.Handoff, ahead ...string) plan.Besides {
	return plan.Besides{All: all, Giver: plan.SourceSide, Handoff: handoff, Ahead: func(v plan.OrdinalVolume) bool {
		return slices.Contains(ahead, v.Template)
	}}
}

// TestBesideOf: a new volume is created in the place of the ordinal's other volumes at the taker, and one after
// the other. The volumes that are filled while the ordinal runs are first, in the order of the templates.
func TestBesideOf(t *testing.T) {
	elsewhere := way("data", api.MethodCopy, "new-other", "")
	elsewhere.Ordinal = 1
	for name, tc := range map[string]struct {
		others []plan.OrdinalVolume
		method api.VolumeMethod
		want   volumes.Beside
	}{
		"alone":                            {nil, api.MethodCopy, volumes.Beside{}},
		"of another ordinal":               {[]plan.OrdinalVolume{elsewhere}, api.MethodCopy, volumes.Beside{}},
		"beside one that has its volume":   {[]plan.OrdinalVolume{way("data", api.MethodCopy, "new-data", "")}, api.MethodCopy, volumes.Beside{Taken: []string{"new-data"}}},
		"beside one that was taken over":   {[]plan.OrdinalVolume{way("data", api.MethodCopy, "", "new-data")}, api.MethodCopy, volumes.Beside{Taken: []string{"new-data"}}},
		"after one that comes first":       {[]plan.OrdinalVolume{way("data", api.MethodCopy, "", "")}, api.MethodCopy, volumes.Beside{Unplaced: "in-data"}},
		"before one that comes later":      {[]plan.OrdinalVolume{way("z", api.MethodCopy, "", "")}, api.MethodCopy, volumes.Beside{}},
		"a copy before a snapshot":         {[]plan.OrdinalVolume{way("data", api.MethodSnapshot, "", "")}, api.MethodCopy, volumes.Beside{}},
		"a snapshot after a copy":          {[]plan.OrdinalVolume{way("z", api.MethodCopy, "", "")}, api.MethodSnapshot, volumes.Beside{Unplaced: "in-z"}},
		"beside a disk that comes along":   {[]plan.OrdinalVolume{way("data", api.MethodRebind, "", "")}, api.MethodCopy, volumes.Beside{Given: []string{"old-data"}}},
		"beside a disk that has come":      {[]plan.OrdinalVolume{way("data", api.MethodRebind, "", "old-data")}, api.MethodCopy, volumes.Beside{Taken: []string{"old-data"}}},
		"beside what is made with the pod": {[]plan.OrdinalVolume{way("data", api.MethodEmpty, "", "")}, api.MethodCopy, volumes.Beside{}},
	} {
		t.Run(name, func(t *testing.T) {
			v := way("logs", tc.method, "", "")
			all := []plan.OrdinalVolume{v}
			for _, other := range tc.others {
				if other.Template < v.Template {
					all = append([]plan.OrdinalVolume{other}, all...)
				} else {
					all = append(all, other)
				}
			}
			if diff := cmp.Diff(tc.want, besides(all, nil).Of(v)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBesideOneThatReturns: the direction changed while another volume of the ordinal was being filled. That
// volume is on the wrong side, and may never exist, so waiting for it could take forever. A pod cannot run where a
// volume of another cluster is. The claim gets its former volume back. If the copy was taken over, the claim gets
// a new volume, which is waited for like any other.
func TestBesideOneThatReturns(t *testing.T) {
	back := func(incoming, names string) plan.OrdinalVolume {
		v := way("data", api.MethodSnapshot, incoming, "")
		v.Copy.Incoming.Volume.ClaimRef.Name = names
		v.Destination = on("out-data", "old-data") // pointed elsewhere, and its claim is deleted
		v.Destination.Claim = volumes.Claim{}
		return v
	}
	handoff := &api.Handoff{Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Copy: api.CopyAttempt{Number: 1, Giver: string(plan.DestinationSide)}}}}
	unknown := back("", "in-data")
	unknown.Destination.Volume = volumes.Volume{}
	for name, tc := range map[string]struct {
		data plan.OrdinalVolume
		want volumes.Beside
	}{
		"nothing was filled":       {back("", "in-data"), volumes.Beside{Taken: []string{"old-data"}}},
		"filled on the wrong side": {back("new-data", "in-data"), volumes.Beside{Taken: []string{"old-data"}}},
		"taken over":               {back("new-data", "data-web-0"), volumes.Beside{Unplaced: "in-data"}},
		"what it has is not known": {unknown, volumes.Beside{}},
	} {
		logs := way("logs", api.MethodSnapshot, "", "")
		if diff := cmp.Diff(tc.want, besides([]plan.OrdinalVolume{tc.data, logs}, handoff).Of(logs)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestUnbegunIsNotWaitedFor: a copy that has not begun may begin only after the stop, or never. Waiting for it
// could take forever.
func TestUnbegunIsNotWaitedFor(t *testing.T) {
	data, logs := placed(way("data", api.MethodCopy, "", ""), true), way("logs", api.MethodCopy, "", "")
	unclaimed := way("logs", api.MethodCopy, "", "")
	unclaimed.Copy.Incoming.Claim = volumes.Claim{}
	logs.Copy.Incoming = volumes.Holding{}
	for _, all := range [][]plan.OrdinalVolume{{data, logs}, {logs, data}, {data, unclaimed}} {
		if diff := cmp.Diff(volumes.Beside{}, besides(all, nil).Of(data)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestMadeAtOnceComesFirst: of two volumes, the one that waits for no pod is created first, whatever the order of
// the templates.
func TestMadeAtOnceComesFirst(t *testing.T) {
	for name, tc := range map[string]struct{ data, logs, first string }{
		"both at once":     {"now", "now", "data"},
		"both with a pod":  {"late", "late", "data"},
		"the first waits":  {"late", "now", "logs"},
		"the second waits": {"now", "late", "data"},
	} {
		t.Run(name, func(t *testing.T) {
			data := placed(way("data", api.MethodCopy, "", ""), tc.data == "late")
			logs := placed(way("logs", api.MethodCopy, "", ""), tc.logs == "late")
			all := []plan.OrdinalVolume{data, logs}
			for _, v := range all {
				want := volumes.Beside{Unplaced: "in-" + tc.first}
				if v.Template == tc.first {
					want = volumes.Beside{}
				}
				if diff := cmp.Diff(want, besides(all, nil).Of(v)); diff != "" {
					t.Errorf("%s: %s", v.Template, diff)
				}
			}
		})
	}
}

// TestAwaited: a volume that is filled only after the stop learns that a volume filled before the stop waits for
// it. Without that, the wait would not end.
func TestAwaited(t *testing.T) {
	late := func(template string) plan.OrdinalVolume { return placed(way(template, api.MethodCopy, "", ""), true) }
	for name, tc := range map[string]struct {
		all   []plan.OrdinalVolume
		ahead string
		want  bool // of data
	}{
		"the one behind it does":       {[]plan.OrdinalVolume{late("data"), late("logs")}, "logs", true},
		"the one behind it is placed":  {[]plan.OrdinalVolume{late("data"), way("logs", api.MethodCopy, "new-logs", "")}, "logs", false},
		"the one behind it waits, too": {[]plan.OrdinalVolume{late("data"), late("logs")}, "", false},
		"the one before it does not":   {[]plan.OrdinalVolume{late("apps"), late("data")}, "apps", false},
	} {
		for _, v := range tc.all {
			if v.Template != "data" {
				continue
			}
			if got := besides(tc.all, nil, tc.ahead).Of(v); got.Awaited != tc.want {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

// TestOnItsWayIsPlaced: a new volume that was parked, or pointed at its ordinal's claim before that exists, has a
// place. Waiting until it is bound would not end: all volumes are filled before any is taken over.
func TestOnItsWayIsPlaced(t *testing.T) {
	for _, names := range []string{"data-web-0_parked", "data-web-0"} {
		data, logs := way("data", api.MethodCopy, "new-data", ""), way("logs", api.MethodCopy, "", "")
		data.Copy.Incoming.Volume.ClaimRef = volumes.Ref{Namespace: "team", Name: names}
		data.Copy.Incoming.Claim.Phase = corev1.ClaimLost
		handoff := &api.Handoff{Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Copy: api.CopyAttempt{Number: 1, Giver: string(plan.SourceSide)}}}}
		if diff := cmp.Diff(volumes.Beside{Taken: []string{"new-data"}}, besides([]plan.OrdinalVolume{data, logs}, handoff).Of(logs)); diff != "" {
			t.Errorf("named %s (-want +got):\n%s", names, diff)
		}
	}
}

package world

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// TestMethodOf: a claim template moves by the method from acceptance, and by Rebind without one.
func TestMethodOf(t *testing.T) {
	m := &api.Migration{}
	m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "cache", Method: api.MethodEmpty}, {ClaimTemplate: "data", Method: api.MethodCopy}}
	for template, want := range map[string]api.VolumeMethod{"cache": api.MethodEmpty, "data": api.MethodCopy, "log": api.MethodRebind} {
		if got := MethodOf(m, template); got != want {
			t.Errorf("%s moves by %q, want %q", template, got, want)
		}
	}
	m.Status.Baseline = &api.Baseline{Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodRebind}}}
	if got := MethodOf(m, "data"); got != api.MethodRebind {
		t.Errorf("under way it moves by %q, which was asked for since", got)
	}
}

// TestWordOf: a gate after the start, or readyWhenFilled, confirms that a replica is filled; a gate that only warns
// does not.
func TestWordOf(t *testing.T) {
	after := []api.GatePoint{api.GateBeforeStop, api.GateAfterStart}
	said := func(e api.EmptySpec) []api.VolumeSpec {
		return []api.VolumeSpec{{ClaimTemplate: "other", Empty: api.EmptySpec{}}, {ClaimTemplate: "data", Empty: e}}
	}
	others := []api.VolumeSpec{{ClaimTemplate: "other", Empty: api.EmptySpec{FillsFromPeers: true, ReadyWhenFilled: true, ReturnsToKept: true}}}
	for name, tc := range map[string]struct {
		gates   []api.HealthGate
		volumes []api.VolumeSpec
		want    volumes.Word
	}{
		"nothing is said":           {nil, nil, volumes.Word{}},
		"of another template":       {nil, others, volumes.Word{}},
		"a gate after the start":    {[]api.HealthGate{{At: after}}, nil, volumes.Word{FilledShown: true}},
		"a gate before the stop":    {[]api.HealthGate{{At: after[:1]}}, nil, volumes.Word{}},
		"one that only warns":       {[]api.HealthGate{{At: after, DryRun: true}}, nil, volumes.Word{}},
		"one that warns, after one": {[]api.HealthGate{{At: after}, {At: after, DryRun: true}}, nil, volumes.Word{FilledShown: true}},
		"filled from peers":         {nil, said(api.EmptySpec{FillsFromPeers: true}), volumes.Word{FillsFromPeers: true}},
		"Ready when filled":         {nil, said(api.EmptySpec{ReadyWhenFilled: true}), volumes.Word{FilledShown: true}},
		"returns to what it left":   {nil, said(api.EmptySpec{ReturnsToKept: true}), volumes.Word{ReturnsToKept: true}},
		"a gate, and not Ready":     {[]api.HealthGate{{At: after}}, said(api.EmptySpec{}), volumes.Word{FilledShown: true}},
	} {
		m := &api.Migration{}
		m.Spec.Gates, m.Spec.Volumes = tc.gates, tc.volumes
		if diff := cmp.Diff(tc.want, wordOf(m, "data")); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// shown returns a side with claims of ordinal 2, each with the volume that it references, and volumes by the claim
// that they reference.
func shown(at *observed, claims map[string]string, named map[string]string) *observed {
	at.claims, at.volumes = map[string]*corev1.PersistentVolumeClaim{}, map[string]*corev1.PersistentVolume{}
	at.set = &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}}}
	for claim, volume := range claims {
		at.claims[claim] = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim, UID: "u"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	for volume, claim := range named {
		at.volumes[volume] = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}, Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: claim},
		}}
	}
	return at
}

// TestVolumeOfAnOrdinal: both sides use the recorded volume, or else the volume of a claim, the source's first. If
// each side has its own volume, the recorded one is used only on the side whose claim had it.
func TestVolumeOfAnOrdinal(t *testing.T) {
	const claim = "data-web-2"
	claimOf := func(volume string) map[string]string { return map[string]string{claim: volume} }
	both := map[string]string{"old": claim, "new": claim}
	for name, tc := range map[string]struct {
		method              api.VolumeMethod
		recorded            string
		source, destination map[string]string // by claim the volume that it names
		there               map[string]string // by volume the claim that it names, on both sides
		want                [2]string
	}{
		"of the source's claim":         {api.MethodRebind, "", claimOf("old"), nil, both, [2]string{"old", "old"}},
		"of the destination's":          {api.MethodRebind, "", nil, claimOf("new"), both, [2]string{"new", "new"}},
		"the source's claim is first":   {api.MethodRebind, "", claimOf("old"), claimOf("new"), both, [2]string{"old", "old"}},
		"a claim that names none":       {api.MethodRebind, "", claimOf(""), claimOf("new"), both, [2]string{"new", "new"}},
		"recorded":                      {api.MethodRebind, "old", claimOf("new"), claimOf("new"), both, [2]string{"old", "old"}},
		"of its own":                    {api.MethodCopy, "", claimOf("old"), claimOf("new"), both, [2]string{"old", "new"}},
		"the source's alone":            {api.MethodCopy, "old", claimOf("old"), nil, both, [2]string{"old", "old"}},
		"recorded, and it names both":   {api.MethodCopy, "old", claimOf("new"), claimOf("new"), both, [2]string{"old", "old"}},
		"recorded, parked there":        {api.MethodCopy, "old", claimOf("new"), nil, map[string]string{"old": claim + "_parked", "new": claim}, [2]string{"old", "old"}},
		"recorded, and another's":       {api.MethodCopy, "old", claimOf("new"), claimOf("new"), map[string]string{"old": "other", "new": claim}, [2]string{"new", "new"}},
		"recorded, on its way":          {api.MethodCopy, "old", claimOf("old"), claimOf("new"), map[string]string{"old": "sliceshift-out", "new": claim}, [2]string{"old", "new"}},
		"recorded, and does not exist":  {api.MethodCopy, "gone", claimOf("new"), nil, both, [2]string{"new", ""}},
		"recorded, and its claim's":     {api.MethodCopy, "gone", claimOf("gone"), nil, both, [2]string{"", ""}},
		"no claim, and nothing is told": {api.MethodCopy, "", nil, nil, both, [2]string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{}
			m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: tc.method}}
			m.Status.Handoff = &api.Handoff{Ordinal: 2, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: tc.recorded}}}
			source := shown(&observed{endpoint: endpointtest.Source(nil)}, tc.source, tc.there)
			destination := shown(&observed{endpoint: endpointtest.Destination(nil)}, tc.destination, tc.there)
			v := ordinalVolume(m, source, destination, 2, "data")
			if got := [2]string{v.Source.Volume.Name, v.Destination.Volume.Name}; got != tc.want || v.Ordinal != 2 || v.Template != "data" || v.Method != tc.method {
				t.Errorf("got %q of %+v, want %q", got, v, tc.want)
			}
		})
	}
}

// TestVolumeThatWasLeft: a claim left by an earlier move references another volume than the arriving one, and that
// volume is parked.
func TestVolumeThatWasLeft(t *testing.T) {
	const claim = "data-web-2"
	for name, tc := range map[string]struct {
		method api.VolumeMethod
		named  string // the claim that the volume of the destination's claim names
		want   string
	}{
		"parked":                       {api.MethodRebind, claim + "_parked", "old"},
		"parked, of another claim":     {api.MethodRebind, "logs-web-2_parked", ""},
		"in use":                       {api.MethodRebind, claim, ""},
		"each side has one of its own": {api.MethodCopy, claim + "_parked", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{}
			m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: tc.method}}
			source := shown(&observed{endpoint: endpointtest.Source(nil)}, map[string]string{claim: "new"}, map[string]string{"new": claim})
			destination := shown(&observed{endpoint: endpointtest.Destination(nil)}, map[string]string{claim: "old"}, map[string]string{"old": tc.named})
			v, got := ordinalVolume(m, source, destination, 2, "data"), ""
			if left := v.Destination.Left; left != nil {
				got = left.Name
			}
			if got != tc.want || v.Source.Left != nil {
				t.Errorf("left: %q, want %q, and at the source %+v", got, tc.want, v.Source.Left)
			}
		})
	}
}

// TestVolumesOfOrdinals: each side has, for each ordinal and template, its claim with the other pods that mount it,
// and its volume with its attachments. It also has the reason why the volume may not be created on the other side.
func TestVolumesOfOrdinals(t *testing.T) {
	const claim = "data-web-2"
	mounting := func(name, of string, change func(*corev1.Pod)) corev1.Pod {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{
			{Name: "scratch"}, {VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: of}}},
		}}}
		if change != nil {
			change(&pod)
		}
		return pod
	}
	source := shown(&observed{endpoint: endpointtest.Source(nil)}, map[string]string{claim: "pv", "data-web-1": "other"}, map[string]string{"pv": claim})
	source.attached = map[string][]volumes.Attachment{"pv": {{Name: "a", Node: "n"}}}
	source.pods = []corev1.Pod{
		mounting("web-2", claim, nil), mounting("backup", claim, nil), mounting("report", "data-web-1", nil),
		mounting("done", claim, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }),
		mounting("broken", claim, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }),
		mounting("warm", claim, func(pod *corev1.Pod) {
			pod.Labels = map[string]string{manifest.RoleLabelKey: string(manifest.RoleWarm)}
		}),
		mounting("receiver", claim, func(pod *corev1.Pod) {
			pod.Labels = map[string]string{manifest.RoleLabelKey: string(manifest.RoleReceiver)}
		}),
	}
	destination := shown(&observed{endpoint: endpointtest.Destination(nil)}, map[string]string{claim: "twin"}, map[string]string{"twin": "other"})
	destination.pods = []corev1.Pod{mounting("stray", claim, nil)}
	destination.duplicateHandles, source.duplicateHandles = map[string]string{"pv": "twin"}, map[string]string{"twin": "pv"}
	m := &api.Migration{}
	m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty}}
	all := (&Observer{Pair: endpointtest.Pair(nil, nil)}).volumesOf(m, source, destination, []int32{2, 5})
	if len(all) != 2 || all[0].Ordinal != 2 || all[1].Ordinal != 5 {
		t.Fatalf("of which ordinals? %+v", all)
	}
	at, other := all[0].Source, all[0].Destination
	users := map[string][]string{"source": at.Claim.Users, "destination": other.Claim.Users}
	if diff := cmp.Diff(map[string][]string{"source": {"backup", "receiver"}, "destination": {"stray"}}, users); diff != "" {
		t.Errorf("who mounts it: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"pv", "twin", "pv"}, []string{at.Claim.Volume, at.Volume.Twin, other.Volume.Twin}); diff != "" || len(at.Volume.Attachments) != 1 {
		t.Errorf("got %+v, and %+v: -want +got\n%s", at, other, diff)
	}
	if v := all[1]; v.Source.Claim.Found || v.Source.Volume.Found || v.Source.Ref != (volumes.Ref{Namespace: "shop", Name: "data-web-5"}) {
		t.Errorf("of an ordinal without a claim: %+v", v)
	}
	m.Spec.Volumes[0].Method = api.MethodCopy
	if all := (&Observer{Pair: endpointtest.Pair(nil, nil)}).volumesOf(m, source, destination, []int32{2}); all[0].Copy == nil {
		t.Errorf("nothing is known of a copy: %+v", all[0])
	}
	source.set.Spec.VolumeClaimTemplates = append(source.set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "cache"}})
	if diff := cmp.Diff([]string{"cache", "data"}, ClaimTemplates(source.set)); diff != "" {
		t.Errorf("claim templates, in order: -want +got\n%s", diff)
	}
	if names := ClaimTemplates(nil); names != nil || plan.ClaimName("data", "web", 2) != claim {
		t.Errorf("of no set: %q", names)
	}
}

// TestK14JudgedByMethod: before an ordinal is stopped, the policy judges the volume that method Rebind would create,
// and the snapshot that method Snapshot would import.
func TestK14JudgedByMethod(t *testing.T) {
	const claim = "data-web-2"
	for driver, reason := range map[string]string{"allowed.example.com": "", "another.example.com": volumes.ReasonVolumeNotAllowed} {
		for _, method := range []api.VolumeMethod{api.MethodRebind, api.MethodSnapshot} {
			source := shown(&observed{endpoint: endpointtest.Source(nil)}, map[string]string{claim: "pv"}, map[string]string{"pv": claim})
			source.volumes["pv"].Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "h"}}
			pair := endpointtest.Pair(nil, nil)
			pair.Destination.ID = "another"
			e := &Observer{Pair: pair, Policy: volumes.Policy{Drivers: []string{"allowed.example.com"}}}
			m := &api.Migration{}
			m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: method}}
			all := e.volumesOf(m, source, shown(&observed{endpoint: endpointtest.Destination(nil)}, nil, nil), []int32{2})
			if got := all[0].Source.Volume.Barred; got.Reason != reason {
				t.Errorf("%s of driver %s: %+v", method, driver, got)
			}
		}
	}
}

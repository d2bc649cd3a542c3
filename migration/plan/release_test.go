package plan

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// halfwayOut is halfway, with ordinal 1 on its way to the destination: neither slice has it, and the
// volumes of its two claims, "data" and "logs", are at the source.
func halfwayOut(change func(*Snapshot)) *planners {
	return halfway(func(s *Snapshot) {
		s.Source.Set.Replicas, s.Source.Pods = 1, []Pod{runs(0)}
		s.Source.Set.Templates = []string{"data", "logs"}
		logs := carriedOut(1)
		logs.Template = "logs"
		s.Volumes = []OrdinalVolume{carriedOut(1), logs}
		s.Record.Handoff = &api.Handoff{Ordinal: 1, Attempts: 1}
		if change != nil {
			change(s)
		}
	})
}

// keptThere lets all volumes be bound at the destination, as if ordinal 1 had been stopped there and
// the migration turned round: the source's are parked.
func keptThere(s *Snapshot) {
	for i := range s.Volumes {
		v := &s.Volumes[i]
		v.Destination = v.Source
		v.Source.Volume.ClaimRef = volumes.Parked(v.Source.Ref)
	}
}

// keptInCluster is the same within one cluster, where both sides see one volume.
func keptInCluster(s *Snapshot) {
	s.Spec.SameCluster = true
	for i := range s.Volumes {
		v := &s.Volumes[i]
		v.Destination.Ref.Namespace = "west"
		v.Destination.Claim = v.Source.Claim
		v.Source.Volume.ClaimRef.Namespace = "west"
		v.Destination.Volume = v.Source.Volume
	}
}

// TestReleased: an ordinal that neither slice owns is carried on when nothing of it is left on
// either side (I1, I2); where it stayed on the taker's volumes, when the giver has nothing of it.
func TestReleased(t *testing.T) {
	const east, west = SourceSide, DestinationSide
	const running, stopping, behind = api.ReasonPodRunning, api.ReasonPodTerminating, api.ReasonControllerBehind
	podAt := func(name SideName) func(*Snapshot) {
		return func(s *Snapshot) {
			there := s.Side(name)
			at, _ := there.at(1)
			there.Pods = slices.Insert(there.Pods, at, runs(1))
		}
	}
	unread := func(s *Snapshot) { s.Volumes = nil }
	both := func(first, then func(*Snapshot)) func(*Snapshot) {
		return func(s *Snapshot) { first(s); then(s) }
	}
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"nothing is left":                            {nil, ""},
		"its pod runs":                               {podAt(east), running + " east"},
		"its pod stops":                              {both(podAt(east), func(s *Snapshot) { s.Source.Pods[1].Terminating = true }), stopping + " east"},
		"the giver's controller is behind":           {func(s *Snapshot) { s.Source.Set.Observed = false }, behind + " east"},
		"a pod runs there":                           {podAt(west), running + " west"},
		"the taker's controller is behind":           {func(s *Snapshot) { s.Destination.Set.Observed = false }, behind + " west"},
		"its claim is in use":                        {func(s *Snapshot) { usesClaim(s, 0, east) }, api.ReasonClaimInUse},
		"its second claim is in use":                 {func(s *Snapshot) { usesClaim(s, 1, east) }, api.ReasonClaimInUse},
		"its volume is attached":                     {func(s *Snapshot) { attaches(s, 0, east, "node") }, api.ReasonVolumeAttached},
		"the claim there is in use":                  {func(s *Snapshot) { usesClaim(s, 1, west) }, api.ReasonClaimInUse},
		"the volume there is attached":               {func(s *Snapshot) { attaches(s, 1, west, "node") }, api.ReasonVolumeAttached},
		"its claims were not read":                   {unread, api.ReasonVolumeUnbound},
		"not read, and its pod runs":                 {both(unread, podAt(east)), running + " east"},
		"not read, and a pod runs there":             {both(unread, podAt(west)), running + " west"},
		"kept":                                       {keptThere, ""},
		"kept, and its pod runs there already":       {both(keptThere, podAt(west)), ""},
		"kept, and a pod runs at the giver":          {both(keptThere, podAt(east)), running + " east"},
		"kept, and in use there":                     {both(keptThere, func(s *Snapshot) { usesClaim(s, 0, west) }), ""},
		"kept, and attached there":                   {both(keptThere, func(s *Snapshot) { attaches(s, 0, west, "node") }), ""},
		"kept, and the giver's claim is in use":      {both(keptThere, func(s *Snapshot) { usesClaim(s, 0, east) }), api.ReasonClaimInUse},
		"kept, and its second claim is in use":       {both(keptThere, func(s *Snapshot) { usesClaim(s, 1, east) }), api.ReasonClaimInUse},
		"kept, and the giver's volume is attached":   {both(keptThere, func(s *Snapshot) { attaches(s, 1, east, "node") }), api.ReasonVolumeAttached},
		"kept in one cluster":                        {keptInCluster, ""},
		"kept in one cluster, and attached there":    {both(keptInCluster, func(s *Snapshot) { attaches(s, 1, east, "node") }), ""},
		"kept in one cluster, the giver's is in use": {both(keptInCluster, func(s *Snapshot) { usesClaim(s, 1, east) }), api.ReasonClaimInUse},
		"in one cluster it is still attached":        {func(s *Snapshot) { s.Spec.SameCluster = true; attaches(s, 1, east, "node") }, api.ReasonVolumeAttached},
	} {
		if got := heldBy(halfwayOut(tc.change).released(1)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestKeptByTaker: an ordinal stayed on the taker's volumes when each is bound there, and none of
// another cluster's is in use at the giver.
func TestKeptByTaker(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   bool
	}{
		"it has no volumes":                    {func(s *Snapshot) { s.Volumes = nil }, true},
		"the giver's are parked":               {keptThere, true},
		"the giver has none":                   {func(s *Snapshot) { keptThere(s); s.Volumes[0].Source.Volume = volumes.Volume{} }, true},
		"one of the giver's is bound":          {func(s *Snapshot) { keptThere(s); s.Volumes[1].Source = s.Volumes[1].Destination }, false},
		"none was ever carried over":           {func(*Snapshot) {}, false},
		"one is not bound":                     {func(s *Snapshot) { keptThere(s); s.Volumes[1].Destination.Claim.Phase = corev1.ClaimPending }, false},
		"in one cluster":                       {keptInCluster, true},
		"in one cluster the giver's are bound": {func(s *Snapshot) { s.Spec.SameCluster = true }, false},
	} {
		p := halfwayOut(tc.change)
		if got := p.keptByTaker(p.Volumes); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestStopping: a pod is gone when its object is gone; what no controller will stop a person must,
// and nobody ever does it by force (I1, I6).
func TestStopping(t *testing.T) {
	const running, stopping, force = api.ReasonPodRunning, api.ReasonPodTerminating, "never force-deleted"
	deleted := func(s *Side) { s.Set.Presence = Absent }
	terminates := func(s *Side) { s.Pods[0].Terminating = true }
	for name, tc := range map[string]struct {
		change                  func(*Side)
		reason, message, remedy string
	}{
		"it is gone":                    {func(s *Side) { s.Pods = nil }, "", "", ""},
		"it stops":                      {terminates, stopping, "is gone", force},
		"it runs":                       {func(*Side) {}, running, "is stopped", ""},
		"its set is gone":               {deleted, running, "nothing will stop it", "kubectl delete pod -n shop web-1"},
		"it stops, and its set is gone": {func(s *Side) { deleted(s); terminates(s) }, stopping, "is gone", force},
	} {
		side := Side{Cluster: "east", Namespace: "shop", Set: halfOf("s", 0), Pods: []Pod{runs(1)}}
		tc.change(&side)
		got := side.stopping(1)
		if got == nil {
			got = &Hold{}
		}
		says := strings.Contains(got.Message, tc.message) && strings.Contains(got.Remedy, tc.remedy) && (tc.remedy == "") == (got.Remedy == "")
		if got.Reason != tc.reason || !says {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestInUse: other pods that use a claim are waited for, and named.
func TestInUse(t *testing.T) {
	h := carriedOut(1).Source
	if got := inUse(h); got != nil {
		t.Errorf("nobody uses it: %+v", got)
	}
	h.Claim.Users = []string{"backup", "debug"}
	const want = "pod backup, debug does not use claim shop/data-web-1"
	if got := inUse(h); got == nil || got.Reason != api.ReasonClaimInUse || !strings.Contains(got.Message, want) || got.Remedy == "" {
		t.Errorf("got %+v", got)
	}
}

// TestAnyAttached: a volume that is attached anywhere is waited for: its node may still write (I2).
func TestAnyAttached(t *testing.T) {
	h := carriedOut(1).Source
	if got := anyAttached(h); got != nil {
		t.Errorf("it is not attached: %+v", got)
	}
	h.Volume.Attachments = []volumes.Attachment{{Name: "csi-1", Node: "n1"}}
	const want = "VolumeAttachment csi-1 of volume pv-data-web-1, on node n1"
	if got := anyAttached(h); got == nil || got.Reason != api.ReasonVolumeAttached || !strings.Contains(got.Message, want) || got.Remedy == "" {
		t.Errorf("got %+v", got)
	}
}

package planner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// beforeTheStop is halfway, with ordinal 1 about to be stopped at the source; the current volumes of its two
// claims, "data" and "logs", are recorded.
func beforeTheStop(change func(*plan.Snapshot)) *planners {
	return halfwayOut(func(s *plan.Snapshot) {
		s.Source.Set.Replicas, s.Source.Pods = 2, []plan.Pod{runs(0), runs(1)}
		s.Volumes = append([]plan.OrdinalVolume{carriedOut(0)}, s.Volumes...)
		for i := range s.Volumes {
			s.Volumes[i].Source.Claim.Volume = "pv-" + s.Volumes[i].Template
			s.Volumes[i].Source.Volume.Name = "pv-" + s.Volumes[i].Template
		}
		s.Record.Handoff.Volumes = asRecorded("pv-data", "pv-logs")
		if change != nil {
			change(s)
		}
	})
}

// asRecorded returns the record of the volumes of ordinal 1, on their current disk.
func asRecorded(data, logs string) []api.HandoffVolume {
	disk := volumes.Disk(carriedOut(1).Source.Volume.Handle)
	return []api.HandoffVolume{{ClaimTemplate: "data", Name: data, Disk: disk}, {ClaimTemplate: "logs", Name: logs, Disk: disk}}
}

// renamed gives a claim another volume.
func renamed(s *plan.Snapshot, at int) {
	h := &s.Volumes[at].Source
	h.Claim.Volume += "-new"
	h.Volume.Name = h.Claim.Volume
}

// isSecured writes the note of this migration on a volume.
func isSecured(s *plan.Snapshot, at int) {
	h := &s.Volumes[at].Source
	h.Volume.Policy, h.Volume.Note = corev1.PersistentVolumeReclaimRetain, volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "m"}
}

// TestCopyOfAnotherDisk: a copy counts only for the disk from which it was made. It is dropped if the claim has
// another disk by now, whatever the volume's name. The same holds for an early copy.
func TestCopyOfAnotherDisk(t *testing.T) {
	attempt := api.CopyAttempt{Number: 7, Giver: string(plan.SourceSide), Warm: api.CopyWarm{Passes: 2, Known: 1 << 40}}
	for name, tc := range map[string]struct {
		change  func(*volumes.Holding)
		dropped bool
	}{
		"another name, another disk": {func(h *volumes.Holding) {
			h.Claim.Volume, h.Volume.Name, h.Volume.Handle = "pv-restored", "pv-restored", "restored"
		}, true},
		"the same name, another disk": {func(h *volumes.Holding) { h.Volume.Handle = "restored" }, true},
		"another name, nothing known of the disk": {func(h *volumes.Holding) {
			h.Claim.Volume, h.Volume = "pv-restored", volumes.Volume{}
		}, true},
		"the same": {func(*volumes.Holding) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := beforeTheStop(func(s *plan.Snapshot) {
				s.Volumes[1].Source.Volume.Handle = "disk"
				s.Record.Handoff.Volumes[0].Disk, s.Record.Handoff.Volumes[0].Copy = volumes.Disk("disk"), attempt
				tc.change(&s.Volumes[1].Source)
			})
			now := p.volumesNow(1)[0].Copy
			if now.Dropped != tc.dropped || now.Number != attempt.Number {
				t.Errorf("dropped: %v: %+v", now.Dropped, now)
			}
			p.Record.Ahead, p.Record.Handoff = []api.CopyAhead{{Ordinal: 1, Volumes: p.Record.Handoff.Volumes}}, nil
			begun := handoffOf(p.View).record(1, p.Record).Record.Handoff.Volumes[0].Copy
			if begun.Dropped != tc.dropped || begun.Number != attempt.Number {
				t.Errorf("at its turn: dropped: %v: %+v", begun.Dropped, begun)
			}
		})
	}
}

// TestVolumesNow: the record of an ordinal has the volumes that the giver's claims reference. For a lost
// destination it has those of the claims that were kept at the source.
func TestVolumesNow(t *testing.T) {
	recovers := func(s *plan.Snapshot) { s.Spec.Mode, s.Destination.Lost = api.ModeRecover, true }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   []api.HandoffVolume
	}{
		"of the source":              {nil, asRecorded("pv-data", "pv-logs")},
		"one claim has none":         {func(s *plan.Snapshot) { s.Volumes[1].Source.Claim.Volume = "" }, asRecorded("pv-data", "pv-logs")[1:]},
		"of the destination, back":   {rollback, nil},
		"of the source, recovering":  {recovers, asRecorded("pv-data", "pv-logs")},
		"it has no claims":           {func(s *plan.Snapshot) { s.Volumes = s.Volumes[:1] }, nil},
		"back, as it was taken over": {func(s *plan.Snapshot) { s.Volumes[1].Destination = s.Volumes[1].Source; rollback(s) }, asRecorded("pv-data", "")[:1]},
	} {
		if diff := cmp.Diff(tc.want, beforeTheStop(tc.change).volumesNow(1)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestRecordedDisk: the disk of a volume that was read is its own. For an unread volume the former record of the
// same volume counts; otherwise the disk is not known (I3).
func TestRecordedDisk(t *testing.T) {
	before := asRecorded("pv-data", "pv-logs")[0].Disk
	other := volumes.Volume{Found: true, Name: "new", Handle: "other"}
	for name, tc := range map[string]struct {
		change func(*volumes.Holding)
		want   string
	}{
		"read":                        {func(h *volumes.Holding) { h.Volume.Handle = "other" }, volumes.Disk("other")},
		"not read":                    {func(h *volumes.Holding) { h.Volume = volumes.Volume{} }, before},
		"it does not exist any more":  {func(h *volumes.Holding) { h.Volume.Found, h.Volume.Handle = false, "other" }, before},
		"another one was read":        {func(h *volumes.Holding) { h.Volume.Name, h.Volume.Handle = "another", "other" }, before},
		"a new one, which was read":   {func(h *volumes.Holding) { h.Claim.Volume, h.Volume = "new", other }, volumes.Disk("other")},
		"a new one that was not read": {func(h *volumes.Holding) { h.Claim.Volume, h.Volume = "new", volumes.Volume{} }, ""},
	} {
		p := beforeTheStop(nil)
		holding := p.Volumes[1].Source
		tc.change(&holding)
		want := api.HandoffVolume{ClaimTemplate: "data", Name: holding.Claim.Volume, Disk: tc.want}
		if diff := cmp.Diff(want, p.recordOf(p.Volumes[1], holding)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestP17RecordedName: a volume with another name at the destination is recorded by its name at the source. A
// claim that references another volume is recorded by that volume's name.
func TestP17RecordedName(t *testing.T) {
	p := beforeTheStop(nil)
	v := p.Volumes[1]
	v.Source.Name, v.Destination.Name = v.Source.Claim.Volume, "pv-there"
	for claimed, want := range map[string]string{"pv-there": v.Source.Name, "another": "another"} {
		holding := v.Destination
		holding.Claim.Volume = claimed
		if got := p.recordOf(v, holding).Name; got != want {
			t.Errorf("claim on %s: recorded as %s, want %s", claimed, got, want)
		}
	}
}

// TestSameVolumes: an ordinal whose claims reference other volumes than the recorded ones is not stopped if this
// migration has secured them, or they are not known (I3). Otherwise the record is stale, and is updated.
func TestSameVolumes(t *testing.T) {
	unbound := func(s *plan.Snapshot, at int) {
		isSecured(s, at)
		s.Volumes[at].Source.Claim.Phase = corev1.ClaimPending
	}
	lost := func(s *plan.Snapshot, at int) {
		s.Volumes[at].Source.Claim.Volume, s.Volumes[at].Source.Volume = "gone", volumes.Volume{}
	}
	const stalls, behind = volumes.ReasonAnotherDisk, "the record is behind"
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"the same":                              {nil, ""},
		"the same, secured":                     {func(s *plan.Snapshot) { isSecured(s, 1) }, ""},
		"the same, not bound any more":          {func(s *plan.Snapshot) { unbound(s, 1) }, ""},
		"another one":                           {func(s *plan.Snapshot) { renamed(s, 1) }, behind},
		"another one, secured":                  {func(s *plan.Snapshot) { renamed(s, 1); isSecured(s, 1) }, behind},
		"another one, secured, and not bound":   {func(s *plan.Snapshot) { renamed(s, 1); unbound(s, 1) }, stalls},
		"the second one, too":                   {func(s *plan.Snapshot) { renamed(s, 2); unbound(s, 2) }, stalls},
		"another one, and the second unbound":   {func(s *plan.Snapshot) { renamed(s, 1); renamed(s, 2); unbound(s, 2) }, stalls},
		"another one, which is not there":       {func(s *plan.Snapshot) { lost(s, 1) }, stalls},
		"another one, never secured, not bound": {func(s *plan.Snapshot) { renamed(s, 1); s.Volumes[1].Source.Claim.Phase = corev1.ClaimPending }, behind},
		"of another ordinal":                    {func(s *plan.Snapshot) { renamed(s, 0); unbound(s, 0) }, ""},
		"none was recorded":                     {func(s *plan.Snapshot) { s.Record.Handoff.Volumes = nil; unbound(s, 1) }, behind},
		"its claim names none":                  {func(s *plan.Snapshot) { lost(s, 1); s.Volumes[1].Source.Claim.Volume = "" }, ""},
		"another one, and not all were read":    {func(s *plan.Snapshot) { renamed(s, 1); s.Volumes = s.Volumes[:2] }, ""},
		"volumes were not looked at":            {func(s *plan.Snapshot) { renamed(s, 1); unbound(s, 1); s.Focused = true }, ""},
		"they were looked at alone":             {func(s *plan.Snapshot) { renamed(s, 1); unbound(s, 1); s.Focused, s.VolumesRead = true, true }, stalls},
		"they were looked at with all":          {func(s *plan.Snapshot) { renamed(s, 1); unbound(s, 1); s.VolumesRead = true }, stalls},
	} {
		p := beforeTheStop(tc.change)
		got := p.sameVolumes(1)
		if got == nil || got.Record == nil || tc.want != behind {
			if does(got) != tc.want {
				t.Errorf("%s: %q, want %q", name, does(got), tc.want)
			}
			continue
		}
		want := p.Record
		handoff := *want.Handoff
		handoff.Volumes = p.volumesNow(1)
		want.Handoff = &handoff
		if diff := cmp.Diff(&want, got.Record); diff != "" || got.Step != api.StepGate {
			t.Errorf("%s: at %q: -want +got\n%s", name, got.Step, diff)
		}
	}
}

// halfwayOut is halfway, with ordinal 1 in flight to the destination: neither slice has it, and the volumes of its
// two claims, "data" and "logs", are at the source.
func halfwayOut(change func(*plan.Snapshot)) *planners {
	return halfway(func(s *plan.Snapshot) {
		s.Source.Set.Replicas, s.Source.Pods = 1, []plan.Pod{runs(0)}
		s.Source.Set.Templates = []string{"data", "logs"}
		logs := carriedOut(1)
		logs.Template = "logs"
		s.Volumes = []plan.OrdinalVolume{carriedOut(1), logs}
		s.Record.Handoff = &api.Handoff{Ordinal: 1, Attempts: 1}
		if change != nil {
			change(s)
		}
	})
}

// keptThere binds all volumes at the destination and parks the source's, as if ordinal 1 had been stopped there
// and the direction had changed.
func keptThere(s *plan.Snapshot) {
	for i := range s.Volumes {
		v := &s.Volumes[i]
		v.Destination = v.Source
		v.Source.Volume.ClaimRef = volumes.Parked(v.Source.Ref)
	}
}

// keptInCluster is the same within one cluster, in which both sides share one volume.
func keptInCluster(s *plan.Snapshot) {
	s.Spec.SameCluster = true
	for i := range s.Volumes {
		v := &s.Volumes[i]
		v.Destination.Ref.Namespace = "west"
		v.Destination.Claim = v.Source.Claim
		v.Source.Volume.ClaimRef.Namespace = "west"
		v.Destination.Volume = v.Source.Volume
	}
}

// TestReleased: an ordinal that neither slice owns continues when nothing of it is left on either side (I1, I2).
// If it still has the taker's volumes, it is enough that the giver has nothing of it.
func TestReleased(t *testing.T) {
	const east, west = plan.SourceSide, plan.DestinationSide
	const running, stopping, behind = api.ReasonPodRunning, api.ReasonPodTerminating, api.ReasonControllerBehind
	podAt := func(name plan.SideName) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Side(name).SetPod(runs(1))
		}
	}
	unread := func(s *plan.Snapshot) { s.Volumes = nil }
	copiedThere := func(from plan.SideName) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			attaches(s, 1, west, "node")
			v := &s.Volumes[1]
			s.Record.Handoff.Volumes = []api.HandoffVolume{{ClaimTemplate: v.Template, Copy: api.CopyAttempt{Number: 1, Giver: string(from)}}}
			v.Copy = &volumes.Copying{}
			v.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: "second", ClaimRef: v.Destination.Ref}
		}
	}
	both := func(first, then func(*plan.Snapshot)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { first(s); then(s) }
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"nothing is left":                                     {nil, ""},
		"its pod runs":                                        {podAt(east), running + " east"},
		"its pod stops":                                       {both(podAt(east), func(s *plan.Snapshot) { s.Source.Pods[1].Terminating = true }), stopping + " east"},
		"the giver's controller is behind":                    {func(s *plan.Snapshot) { s.Source.Set.Observed = false }, behind + " east"},
		"a pod runs there":                                    {podAt(west), running + " west"},
		"the taker's controller is behind":                    {func(s *plan.Snapshot) { s.Destination.Set.Observed = false }, behind + " west"},
		"its claim is in use":                                 {func(s *plan.Snapshot) { usesClaim(s, 0, east) }, api.ReasonClaimInUse},
		"its second claim is in use":                          {func(s *plan.Snapshot) { usesClaim(s, 1, east) }, api.ReasonClaimInUse},
		"its volume is attached":                              {func(s *plan.Snapshot) { attaches(s, 0, east, "node") }, api.ReasonVolumeAttached},
		"the claim there is in use":                           {func(s *plan.Snapshot) { usesClaim(s, 1, west) }, ""},
		"the volume there is attached":                        {func(s *plan.Snapshot) { attaches(s, 1, west, "node") }, api.ReasonVolumeAttached},
		"its copy there is attached":                          {copiedThere(east), ""},
		"its copy is to go back, and attached there":          {copiedThere(west), api.ReasonVolumeAttached},
		"its copy was taken over, and a mover had its volume": {both(copiedThere(east), func(s *plan.Snapshot) { attaches(s, 1, east, "node") }), ""},
		"its copy was taken over, and its claim is in use":    {both(copiedThere(east), func(s *plan.Snapshot) { usesClaim(s, 1, east) }), api.ReasonClaimInUse},
		"one copy of two was taken over":                      {both(copiedThere(east), func(s *plan.Snapshot) { attaches(s, 0, east, "node") }), api.ReasonVolumeAttached},
		"its claims were not read":                            {unread, api.ReasonVolumeUnbound},
		"not read, and its pod runs":                          {both(unread, podAt(east)), running + " east"},
		"not read, and a pod runs there":                      {both(unread, podAt(west)), running + " west"},
		"kept":                                                {keptThere, ""},
		"kept, and its pod runs there already":                {both(keptThere, podAt(west)), ""},
		"kept, and a pod runs at the giver":                   {both(keptThere, podAt(east)), running + " east"},
		"kept, and in use there":                              {both(keptThere, func(s *plan.Snapshot) { usesClaim(s, 0, west) }), ""},
		"kept, and attached there":                            {both(keptThere, func(s *plan.Snapshot) { attaches(s, 0, west, "node") }), ""},
		"kept, and the giver's claim is in use":               {both(keptThere, func(s *plan.Snapshot) { usesClaim(s, 0, east) }), api.ReasonClaimInUse},
		"kept, and its second claim is in use":                {both(keptThere, func(s *plan.Snapshot) { usesClaim(s, 1, east) }), api.ReasonClaimInUse},
		"kept, and the giver's volume is attached":            {both(keptThere, func(s *plan.Snapshot) { attaches(s, 1, east, "node") }), api.ReasonVolumeAttached},
		"kept in one cluster":                                 {keptInCluster, ""},
		"kept in one cluster, and attached there":             {both(keptInCluster, func(s *plan.Snapshot) { attaches(s, 1, east, "node") }), ""},
		"kept in one cluster, the giver's is in use":          {both(keptInCluster, func(s *plan.Snapshot) { usesClaim(s, 1, east) }), api.ReasonClaimInUse},
		"in one cluster it is still attached":                 {func(s *plan.Snapshot) { s.Spec.SameCluster = true; attaches(s, 1, east, "node") }, api.ReasonVolumeAttached},
	} {
		if got := heldBy(halfwayOut(tc.change).released(1)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestKeptByTaker: an ordinal has kept the taker's volumes if each is bound there, and no volume of another
// cluster is in use at the giver.
func TestKeptByTaker(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"it has no volumes":                    {func(s *plan.Snapshot) { s.Volumes = nil }, true},
		"the giver's are parked":               {keptThere, true},
		"the giver has none":                   {func(s *plan.Snapshot) { keptThere(s); s.Volumes[0].Source.Volume = volumes.Volume{} }, true},
		"one of the giver's is bound":          {func(s *plan.Snapshot) { keptThere(s); s.Volumes[1].Source = s.Volumes[1].Destination }, false},
		"none was ever carried over":           {func(*plan.Snapshot) {}, false},
		"one is not bound":                     {func(s *plan.Snapshot) { keptThere(s); s.Volumes[1].Destination.Claim.Phase = corev1.ClaimPending }, false},
		"in one cluster":                       {keptInCluster, true},
		"in one cluster the giver's are bound": {func(s *plan.Snapshot) { s.Spec.SameCluster = true }, false},
	} {
		p := halfwayOut(tc.change)
		if got := p.keptByTaker(p.Volumes); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestStopping: a pod is stopped only when its object is deleted. A pod that no controller will stop must be
// stopped by a user, and never by force (I1, I6).
func TestStopping(t *testing.T) {
	const running, ending, force = api.ReasonPodRunning, api.ReasonPodTerminating, "never force-deleted"
	deleted := func(s *plan.Side) { s.Set.Presence = plan.Absent }
	terminates := func(s *plan.Side) { s.Pods[0].Terminating = true }
	for name, tc := range map[string]struct {
		change                  func(*plan.Side)
		reason, message, remedy string
	}{
		"it is gone":                    {func(s *plan.Side) { s.Pods = nil }, "", "", ""},
		"it stops":                      {terminates, ending, "is deleted", force},
		"somebody holds it":             {func(s *plan.Side) { terminates(s); s.Pods[0].Finalizers = "example.com/hold" }, ending, "is deleted: the finalizers example.com/hold keep it", "kubectl describe pod -n shop web-1"},
		"it runs":                       {func(*plan.Side) {}, running, "is stopped", ""},
		"it runs, with a finalizer":     {func(s *plan.Side) { s.Pods[0].Finalizers = "example.com/hold" }, running, "is stopped", ""},
		"its set is gone":               {deleted, running, "nothing will stop it", "kubectl delete pod -n shop web-1"},
		"it stops, and its set is gone": {func(s *plan.Side) { deleted(s); terminates(s) }, ending, "is deleted", force},
	} {
		side := plan.Side{Cluster: "east", Namespace: "shop", Set: halfOf("s", 0), Pods: []plan.Pod{runs(1)}}
		tc.change(&side)
		got := stopping(side, 1)
		if got == nil {
			got = &plan.Hold{}
		}
		says := strings.Contains(got.Message, tc.message) && strings.Contains(got.Remedy, tc.remedy) && (tc.remedy == "") == (got.Remedy == "")
		if got.Reason != tc.reason || !says {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestInUse: other pods that use a claim are awaited, and named.
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

// TestAnyAttached: a volume that is attached anywhere is awaited: its node may still write (I2).
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
	h.Volume.Released = "migration.1"
	if got := anyAttached(h); got == nil {
		t.Error("it bears the mark of a release, and its ordinal's claim has it: somebody has pointed it back by hand")
	}
	h.Volume.ClaimRef.Name = "sliceshift-out"
	if got := anyAttached(h); got != nil {
		t.Errorf("it is released, for its movers: %+v", got)
	}
}

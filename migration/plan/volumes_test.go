package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// beforeTheStop is halfway, with ordinal 1 about to be stopped at the source; the volumes of its two
// claims, "data" and "logs", are recorded as they are.
func beforeTheStop(change func(*Snapshot)) *planners {
	return halfwayOut(func(s *Snapshot) {
		s.Source.Set.Replicas, s.Source.Pods = 2, []Pod{runs(0), runs(1)}
		s.Volumes = append([]OrdinalVolume{carriedOut(0)}, s.Volumes...)
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

// asRecorded are the volumes of ordinal 1 in a record, on the disk that they are on.
func asRecorded(data, logs string) []api.HandoffVolume {
	disk := volumes.Disk(carriedOut(1).Source.Volume.Handle)
	return []api.HandoffVolume{{ClaimTemplate: "data", Name: data, Disk: disk}, {ClaimTemplate: "logs", Name: logs, Disk: disk}}
}

// renamed lets the claim of a volume, and what is read for it, be of another volume.
func renamed(s *Snapshot, at int) {
	h := &s.Volumes[at].Source
	h.Claim.Volume += "-new"
	h.Volume.Name = h.Claim.Volume
}

// isSecured lets a volume bear the note of this migration.
func isSecured(s *Snapshot, at int) {
	h := &s.Volumes[at].Source
	h.Volume.Policy, h.Volume.Note = corev1.PersistentVolumeReclaimRetain, volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "m"}
}

// TestVolumesNow: what is recorded of an ordinal is what its giver's claims name; where the
// destination is lost, what the claims name that were kept at the source.
func TestVolumesNow(t *testing.T) {
	recovers := func(s *Snapshot) { s.Spec.Mode, s.Destination.Lost = api.ModeRecover, true }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   []api.HandoffVolume
	}{
		"of the source":              {nil, asRecorded("pv-data", "pv-logs")},
		"one claim has none":         {func(s *Snapshot) { s.Volumes[1].Source.Claim.Volume = "" }, asRecorded("pv-data", "pv-logs")[1:]},
		"of the destination, back":   {rollback, nil},
		"of the source, recovering":  {recovers, asRecorded("pv-data", "pv-logs")},
		"it has no claims":           {func(s *Snapshot) { s.Volumes = s.Volumes[:1] }, nil},
		"back, as it was taken over": {func(s *Snapshot) { s.Volumes[1].Destination = s.Volumes[1].Source; rollback(s) }, asRecorded("pv-data", "")[:1]},
	} {
		if diff := cmp.Diff(tc.want, beforeTheStop(tc.change).volumesNow(1)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestRecordedDisk: the disk of a volume that was read is its own; of one that was not, what was
// recorded of the volume before, and of another volume nothing is known (I3).
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

// TestSameVolumes: an ordinal whose claims name other volumes than those that were recorded is not
// stopped when this migration has secured them, or does not know them (I3); else the record is
// behind, and is written anew.
func TestSameVolumes(t *testing.T) {
	unbound := func(s *Snapshot, at int) { isSecured(s, at); s.Volumes[at].Source.Claim.Phase = corev1.ClaimPending }
	lost := func(s *Snapshot, at int) {
		s.Volumes[at].Source.Claim.Volume, s.Volumes[at].Source.Volume = "gone", volumes.Volume{}
	}
	const stalls, behind = volumes.ReasonAnotherDisk, "the record is behind"
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"the same":                              {nil, ""},
		"the same, secured":                     {func(s *Snapshot) { isSecured(s, 1) }, ""},
		"the same, not bound any more":          {func(s *Snapshot) { unbound(s, 1) }, ""},
		"another one":                           {func(s *Snapshot) { renamed(s, 1) }, behind},
		"another one, secured":                  {func(s *Snapshot) { renamed(s, 1); isSecured(s, 1) }, behind},
		"another one, secured, and not bound":   {func(s *Snapshot) { renamed(s, 1); unbound(s, 1) }, stalls},
		"the second one, too":                   {func(s *Snapshot) { renamed(s, 2); unbound(s, 2) }, stalls},
		"another one, and the second unbound":   {func(s *Snapshot) { renamed(s, 1); renamed(s, 2); unbound(s, 2) }, stalls},
		"another one, which is not there":       {func(s *Snapshot) { lost(s, 1) }, stalls},
		"another one, never secured, not bound": {func(s *Snapshot) { renamed(s, 1); s.Volumes[1].Source.Claim.Phase = corev1.ClaimPending }, behind},
		"of another ordinal":                    {func(s *Snapshot) { renamed(s, 0); unbound(s, 0) }, ""},
		"none was recorded":                     {func(s *Snapshot) { s.Record.Handoff.Volumes = nil; unbound(s, 1) }, behind},
		"its claim names none":                  {func(s *Snapshot) { lost(s, 1); s.Volumes[1].Source.Claim.Volume = "" }, ""},
		"another one, and not all were read":    {func(s *Snapshot) { renamed(s, 1); s.Volumes = s.Volumes[:2] }, ""},
		"volumes were not looked at":            {func(s *Snapshot) { renamed(s, 1); unbound(s, 1); s.Focused = true }, ""},
		"they were looked at alone":             {func(s *Snapshot) { renamed(s, 1); unbound(s, 1); s.Focused, s.VolumesRead = true, true }, stalls},
		"they were looked at with all":          {func(s *Snapshot) { renamed(s, 1); unbound(s, 1); s.VolumesRead = true }, stalls},
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

package volumes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// dropped returns a copy that was abandoned on the way back.
func dropped() Handing {
	in, own := Ref{Namespace: "west", Name: "in"}, Ref{Namespace: "east", Name: "data-web-0"}
	h := Handing{Pair: Pair{Owner: "m", Fence: "m.2", Separate: true}}
	h.Taker.Ref = Ref{Namespace: "west", Name: "data-web-0"}
	h.Giver = Holding{
		Ref: own, Claim: Claim{Found: true, UID: "own", Volume: "pv", Phase: corev1.ClaimBound},
		Volume: Volume{Found: true, Name: "pv", Handle: "d/pv", ClaimRef: Ref{Namespace: "east", Name: "data-web-0", UID: "own"}},
	}
	h.Outgoing.Ref = Ref{Namespace: "east", Name: "out"}
	h.Attempt = api.CopyAttempt{Number: 7, Dropped: true}
	h.Incoming = Holding{
		Ref: in, Claim: Claim{Found: true, Ours: true, UID: "in", ResourceVersion: "3", Volume: "copy"},
		Volume: Volume{
			Found: true, Name: "copy", UID: "v", ResourceVersion: "5", Handle: "d/copy", Policy: corev1.PersistentVolumeReclaimRetain,
			Note: Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "m"}, ClaimRef: Ref{Namespace: "west", Name: "in", UID: "in"},
		},
	}
	return h
}

// TestDrop: an abandoned copy is removed step by step, each step on the very object that was judged. Nothing is
// removed if the disk may be another user's, or if the ordinal's own disk is not where it was.
func TestDrop(t *testing.T) {
	const loosen, claim, record, nothing = "Loosen", "DeleteDropped", "recorded", ""
	loose := func(h *Handing) { h.Incoming.Volume.Note = Note{} }
	for name, tc := range map[string]struct {
		change func(*Handing)
		want   string
	}{
		"it is recorded first":                   {func(h *Handing) { h.Attempt.Dropped = false }, record},
		"the volume gets its policy back":        {func(*Handing) {}, loosen},
		"so does one that was parked":            {func(h *Handing) { loose(h); h.Incoming.Volume.ClaimRef = Parked(h.Incoming.Ref) }, loosen},
		"and one that bears the fence":           {func(h *Handing) { loose(h); h.Incoming.Volume.Fence = "m.1" }, loosen},
		"M-050: then the claim goes":             {loose, claim},
		"one without a volume goes":              {func(h *Handing) { h.Incoming.Claim.Volume, h.Incoming.Volume = "", Volume{} }, claim},
		"while the giver's volume is released":   {func(h *Handing) { loose(h); h.Giver.Volume.ClaimRef = h.Outgoing.Ref }, claim},
		"it is gone":                             {func(h *Handing) { h.Incoming.Claim = Claim{} }, nothing},
		"it goes":                                {func(h *Handing) { h.Incoming.Claim.Terminating = true }, nothing},
		"M-050: somebody else has made it":       {func(h *Handing) { h.Incoming.Claim.Ours = false }, nothing},
		"it was taken over":                      {func(h *Handing) { h.Incoming.Volume.ClaimRef = h.Taker.Ref }, nothing},
		"it was taken over once":                 {func(h *Handing) { h.Incoming.Volume.Seal = "root" }, nothing},
		"M-050: it is for somebody else's claim": {func(h *Handing) { h.Incoming.Volume.ClaimRef = Ref{Namespace: "west", Name: "in", UID: "other"} }, nothing},
		"it is the giver's disk":                 {func(h *Handing) { h.Incoming.Volume.Handle = "d/pv" }, nothing},
		"it is the disk that the taker has":      {func(h *Handing) { h.Taker.Volume.Handle = "d/copy" }, nothing},
		"another volume is that disk":            {func(h *Handing) { h.Incoming.Volume.Twin = "another" }, nothing},
		"nobody knows its disk":                  {func(h *Handing) { h.Incoming.Volume.Handle = "" }, nothing},
		"the giver's volume is not there":        {func(h *Handing) { h.Giver.Volume = Volume{} }, nothing},
		"the giver's volume is parked":           {func(h *Handing) { h.Giver.Volume.ClaimRef = Parked(h.Giver.Ref) }, nothing},
		"the giver's volume is being deleted":    {func(h *Handing) { h.Giver.Volume.Terminating = true }, nothing},
		"nothing is recorded of what must stay":  {func(h *Handing) { h.Attempt.Dropped, h.Giver.Volume = false, Volume{} }, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			h := dropped()
			tc.change(&h)
			verdict, got := h.Drop(), nothing
			switch a := verdict.Action; {
			case verdict.Attempt != nil:
				got = record
			case a != nil:
				got = string(a.Verb)
				judged := a.Verb == Loosen && a.UID == "v" && a.ResourceVersion == "5" && a.After.ClaimRef.UID == "in" && a.After.Policy != "" || a.UID == "in" && a.ResourceVersion == "3"
				if !judged || a.AtGiver {
					t.Errorf("%+v", a)
				}
			}
			if got != tc.want {
				t.Errorf("%q, want %q: %+v", got, tc.want, verdict)
			}
		})
	}
}

package volumes

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// filledSecond returns a claim whose second volume has all content of the first one. The first is released, no
// mover reads it any more, and the seal of the two is recorded.
func filledSecond() Handing {
	giver, taker := secure(held("east", "")), empty("west")
	out, in := OutgoingRef(giver.Ref, owner), IncomingRef(taker.Ref, owner, 7)
	giver.Volume.Released, giver.Volume.ClaimRef = "migration.1", Ref{Namespace: out.Namespace, Name: out.Name, UID: "out"}
	incoming := secure(held("west", ""))
	incoming.Ref, incoming.Volume.ClaimRef = in, Ref{Namespace: in.Namespace, Name: in.Name, UID: "in"}
	incoming.Volume.Name, incoming.Volume.Handle = "second", "d/second"
	incoming.Claim.UID, incoming.Claim.Volume = "in", "second"
	h := Handing{Pair: Pair{Separate: true, Owner: owner, Fence: fence, Giver: giver, Taker: taker}}
	h.Attempt = api.CopyAttempt{Number: 7, Seal: api.CopySeal{Root: "root", Released: "migration.1", Volume: "second", From: Disk("d/h"), To: Disk("d/second")}}
	h.Incoming = incoming
	h.Outgoing = Holding{Ref: out, Claim: Claim{Found: true, UID: "out", ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: "pv"}, Volume: giver.Volume}
	return h
}

// takenOver returns one whose second volume is the ordinal's, and whose first is still at the outgoing claim.
func takenOver() Handing {
	h := filledSecond()
	h.Incoming.Volume.Seal, h.Incoming.Volume.ClaimRef = "root", Ref{Namespace: h.Taker.Ref.Namespace, Name: h.Taker.Ref.Name, UID: "taker"}
	h.Taker.Claim = Claim{Found: true, UID: "taker", ResourceVersion: "4", Phase: corev1.ClaimBound, Volume: "second", Fence: fence, Calls: 2}
	h.Taker.Volume = h.Incoming.Volume
	return h
}

// first applies a change to the first volume wherever it is observed.
func first(change func(*Volume)) func(*Handing) {
	return func(h *Handing) {
		change(&h.Giver.Volume)
		h.Outgoing.Volume = h.Giver.Volume
	}
}

func second(change func(*Volume)) func(*Handing) {
	return func(h *Handing) { change(&h.Incoming.Volume) }
}

// told returns a verdict in a few words: the action and its side, the count of calls to the binder, the wait.
func told(v Verdict) string {
	at := func(a Action) string {
		where := "taker"
		if a.AtGiver {
			where = "giver"
		}
		return string(a.Verb) + " at the " + where
	}
	switch {
	case v.Hold != nil:
		return "blocked: " + v.Hold.Reason
	case v.Action != nil:
		return at(*v.Action)
	case v.Attempt != nil:
		return "another attempt"
	case v.Call != nil:
		return at(*v.Call) + ", call " + strconv.Itoa(v.Call.Calls)
	}
	return v.Waits
}

// handingSteps maps changes of the observed state to the step that is then due.
type handingSteps map[string]struct {
	change func(*Handing)
	want   string
}

func (steps handingSteps) run(t *testing.T, begin func() Handing, step func(Handing) Verdict) {
	t.Helper()
	for name, tc := range steps {
		t.Run(name, func(t *testing.T) {
			h := begin()
			tc.change(&h)
			verdict := step(h)
			if waits := verdict.Waits != "" && verdict.Call == nil; waits != (verdict.Look == 500*time.Millisecond) {
				t.Errorf("it looks again after %s, for what? %q", verdict.Look, verdict.Waits)
			}
			got := strings.NewReplacer(OutgoingRef(h.Giver.Ref, owner).Name, "OUT", h.Incoming.Ref.Name, "IN").Replace(told(verdict))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func as(*Handing) {}

// attachedBy returns a change after which the second volume is still attached to the node of the receiver that has
// sealed it.
func attachedBy(change func(*Handing)) func(*Handing) {
	return func(h *Handing) {
		h.Incoming.Volume.Attachments = []Attachment{{Name: "a", Node: "n"}}
		h.Incoming.Volume.Modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		h.Receiver = Mover{Found: true, Attempt: 7, Node: "n", Ended: true, Result: MoverResult{Done: true, Locked: true, Root: "root"}}
		h.Unused = true
		change(h)
	}
}

func unsecured(v *Volume) { v.Note = Note{} }

// unkept makes the second volume one that is deleted with its claim.
func unkept(h *Handing) {
	h.Incoming.Volume.Policy, h.Incoming.Volume.Note = corev1.PersistentVolumeReclaimDelete, Note{}
}

// TestReleasedTwice: a user has pointed the first volume back by hand, and its ordinal may have written.
// Earlier results do not count then, although the volume is released again under the same fence (I3).
func TestReleasedTwice(t *testing.T) {
	for name, known := range map[string]func(*Handing){
		"sealed":                   as,
		"the mark was taken off":   first(func(v *Volume) { v.Released = "" }),
		"a snapshot was taken":     func(h *Handing) { h.Attempt.Seal, h.Attempt.Snapshot.Released = api.CopySeal{}, fence },
		"a snapshot was asked for": func(h *Handing) { h.Attempt.Seal, h.Snapshot.Taken.Released = api.CopySeal{}, fence },
	} {
		h := filledSecond()
		h.Giver.Volume.Released, h.Attempt.Seal.Released = fence, fence
		h.Giver.Volume.ClaimRef = Ref{Namespace: "east", Name: "data-web-0", UID: "east-claim"}
		known(&h)
		again := h.Release().Action
		if again == nil || again.Verb != Release || again.After.Released == fence || again.After.Released == "" {
			t.Errorf("%s: released again by %+v", name, again)
			continue
		}
		h.Giver.Volume = h.Giver.Volume.In(again.After)
		if h.Sealed() || h.Release().Action != nil && h.Release().Action.Verb == Release {
			t.Errorf("%s: the seal still counts, or it is released for ever", name)
		}
		h.Giver.Volume.ClaimRef = Ref{Namespace: "east", Name: "data-web-0", UID: "east-claim"}
		if third := h.Release().Action; third.After.Released == again.After.Released {
			t.Errorf("%s: the third time it has the mark of the second", name)
		}
	}
	h := filledSecond()
	h.Giver.Volume.ClaimRef = Ref{Namespace: "east", Name: "data-web-0", UID: "east-claim"}
	h.Sender = Mover{Found: true, Attempt: 7, Pass: 1}
	next := h.Release().Attempt
	if next == nil || next.Passes != 1 || next.Number != 7 || next.Seal.Root != "" {
		t.Fatalf("what is read of it meanwhile: %+v", next)
	}
	if h.Attempt = *next; h.Release().Action == nil {
		t.Errorf("then: %+v", h.Release())
	}
}

// TestPassBegun: a sender that was created beside the ordinal's pod has read nothing before its receiver is introduced
// to it, so that no pass is repeated for it.
func TestPassBegun(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Handing)
		counts bool
	}{
		"it waits":                       {as, true},
		"its receiver knows it":          {func(h *Handing) { h.Receiver.Peer = "sender" }, false},
		"it has ended":                   {func(h *Handing) { h.Sender.Ended = true }, false},
		"it reads the outgoing claim":    {func(h *Handing) { h.Sender.Claim = h.Outgoing.Ref.Name }, false},
		"it is of a pass that is over":   {func(h *Handing) { h.Sender.Claim, h.Attempt.Passes = "", 1 }, true},
		"it is not this migration's":     {func(h *Handing) { h.Sender.Claim, h.Sender.Foreign = "", true }, true},
		"its receiver knows it, foreign": {func(h *Handing) { h.Receiver.Peer, h.Sender.Foreign = "sender", true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := filledSecond()
			h.Giver.Volume.ClaimRef = Ref{Namespace: "east", Name: "data-web-0", UID: "east-claim"}
			h.Sender = Mover{Found: true, Attempt: 7, Pass: 1, Claim: h.Giver.Ref.Name, Key: "sender", Peer: "receiver"}
			h.Receiver = Mover{Found: true, Attempt: 7, Pass: 1, Key: "receiver"}
			tc.change(&h)
			if got := h.TakeAway(); (got.Action != nil && got.Action.Verb == Release) != tc.counts {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestTidy: after a take-over the two claims beside the ordinal's own are deleted, once that is bound. Otherwise the
// copy is dropped.
func TestTidy(t *testing.T) {
	handingSteps{
		"both claims are left":   {as, "DeleteLost at the taker"},
		"one is left":            {func(h *Handing) { h.Incoming.Claim = Claim{} }, "DeleteLost at the giver"},
		"nothing is left":        {func(h *Handing) { h.Incoming.Claim, h.Outgoing.Claim = Claim{}, Claim{} }, ""},
		"its claim is not bound": {func(h *Handing) { h.Taker.Claim.Phase = corev1.ClaimLost }, ""},
	}.run(t, takenOver, Handing.Tidy)
	h := filledSecond()
	h.Incoming.Claim.Ours = true
	if got := h.Tidy(); got.Attempt == nil || !got.Attempt.Dropped {
		t.Errorf("not taken over: %+v", got)
	}
}

// TestAnotherAttempt: an attempt that has lost its second volume is followed by another one, under other names,
// for the same snapshot.
func TestAnotherAttempt(t *testing.T) {
	h := filledSecond()
	unkept(&h)
	h.Incoming.Claim, h.Attempt.Giver, h.Attempt.Snapshot.Handle, h.Attempt.Torn.Times = Claim{}, "Source", "shot", 2
	next := h.HandOver().Attempt
	if next == nil || next.Number <= 7 || next.Begun != fence || next.Seal.Root != "" || next.Giver != "Source" || next.Snapshot.Handle != "shot" || next.Torn.Times != 2 {
		t.Errorf("got %+v", next)
	}
}

// TestRelease: the first volume is pointed at the outgoing claim, which is created and bound; never without
// Retain (I3).
func TestRelease(t *testing.T) {
	own := func(h *Handing) {
		first(func(v *Volume) {
			v.ClaimRef = Ref{Namespace: "east", Name: "data-web-0", UID: "east-claim"}
			v.Released = ""
		})(h)
	}
	handingSteps{
		"released":               {as, ""},
		"there is no volume":     {first(func(v *Volume) { *v = Volume{} }), "blocked: VolumeLost"},
		"its claim was deleted":  {func(h *Handing) { h.Giver.Claim, h.Giver.Volume = Claim{}, Volume{} }, "blocked: VolumeLost"},
		"of somebody else":       {first(func(v *Volume) { v.ClaimRef.Name = "another" }), "blocked: ForeignVolume"},
		"still the ordinal's":    {own, "Release at the giver"},
		"and not secured":        {func(h *Handing) { own(h); h.Giver.Volume.Note = Note{} }, "Secure at the giver"},
		"secured under a fence":  {func(h *Handing) { own(h); h.Giver.Volume.Fence = "migration.0" }, "Secure at the giver"},
		"without its mark":       {first(func(v *Volume) { v.Released = "" }), "Release at the giver"},
		"of a former claim":      {first(func(v *Volume) { v.ClaimRef.UID = "former" }), "Release at the giver"},
		"reserved":               {first(func(v *Volume) { v.ClaimRef.UID = "" }), "claim east/OUT is bound to volume pv"},
		"no outgoing claim":      {func(h *Handing) { h.Giver.Volume.ClaimRef.UID, h.Outgoing.Claim = "", Claim{} }, "CreateOutgoing at the giver"},
		"the move turned round":  {func(h *Handing) { h.Back, h.Giver.Volume.ClaimRef.UID, h.Outgoing.Claim = true, "", Claim{} }, "CreateOutgoing at the taker"},
		"the outgoing claim was": {func(h *Handing) { h.Outgoing.Claim = Claim{} }, "Release at the giver"},
	}.run(t, filledSecond, Handing.Release)
	h := filledSecond()
	h.Giver.Volume.Released = ""
	if a := h.Release().Action; a.After.Released != fence || a.Ref != h.Giver.Volume.ClaimRef || a.Volume != "pv" || a.UID != "east-pv" || a.ResourceVersion != "1" {
		t.Errorf("released by %+v", a)
	}
	h.Giver.Volume.ClaimRef.UID, h.Giver.Volume.Released, h.Giver.Volume.Class, h.Outgoing.Claim = "", "migration.1", "fast", Claim{}
	if a := h.Release().Action; a.Ref != h.Outgoing.Ref || a.Volume != "pv" || a.Copy.Class != "fast" {
		t.Errorf("the outgoing claim is made by %+v", a)
	}
}

// TestSealed: a seal counts for the two volumes that it was computed from, and for one release of the first.
func TestSealed(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Handing)
		want   bool
	}{
		"as recorded":           {as, true},
		"no seal":               {func(h *Handing) { h.Attempt.Seal.Root = "" }, false},
		"given back since":      {func(h *Handing) { h.Giver.Volume.Released = "" }, false},
		"never released":        {func(h *Handing) { h.Giver.Volume.Released, h.Attempt.Seal.Released = "", "" }, false},
		"released again":        {func(h *Handing) { h.Giver.Volume.Released = "migration.2" }, false},
		"no second volume":      {second(func(v *Volume) { v.Found = false }), false},
		"of another volume":     {func(h *Handing) { h.Attempt.Seal.Volume = "another" }, false},
		"of another first disk": {func(h *Handing) { h.Giver.Volume.Handle = "d/another" }, false},
		"of another disk":       {second(func(v *Volume) { v.Handle = "d/another" }), false},
	} {
		h := filledSecond()
		tc.change(&h)
		if got := h.Sealed(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestSecondIsTaken: there is no way back once the second volume names the ordinal's claim.
func TestSecondIsTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		begin  func() Handing
		change func(*Handing)
		want   bool
	}{
		"filled":                {filledSecond, as, false},
		"taken over":            {takenOver, as, true},
		"no attempt":            {takenOver, func(h *Handing) { h.Attempt.Number = 0 }, false},
		"the volume is gone":    {takenOver, second(func(v *Volume) { v.Found = false }), false},
		"the first of attempts": {takenOver, func(h *Handing) { h.Attempt.Number = 1 }, true},
	} {
		h := tc.begin()
		tc.change(&h)
		if got := h.Taken(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestHandOver: the second volume is pointed at the ordinal's claim once nothing uses it any more. Before that,
// the taker's former claim is deleted and its volume is kept (I3).
func TestHandOver(t *testing.T) {
	const attachedToN = "volume second is not attached to node n any more"
	kept := func(change func(*Holding)) func(*Handing) {
		return func(h *Handing) {
			h.Taker = parked("west")
			h.Taker.Claim.Phase = corev1.ClaimLost
			change(&h.Taker)
		}
	}
	ready := func(h *Handing) { h.Incoming.Volume.ClaimRef = Parked(h.Incoming.Ref) }
	handingSteps{
		"it is parked":     {as, "Park at the taker"},
		"and then pointed": {ready, "TakeOver at the taker"},
		"attached":         {second(func(v *Volume) { v.Attachments = []Attachment{{Name: "a", Node: "n"}} }), "volume second is not attached to node n any more"},
		"by its receiver":  {attachedBy(as), "Park at the taker"},
		"by its receiver alone": {attachedBy(func(h *Handing) {
			h.Incoming.Volume.Attachments = append(h.Incoming.Volume.Attachments, Attachment{Node: "m"})
		}), "volume second is not attached to node m any more"},
		"by one that runs":           {attachedBy(func(h *Handing) { h.Receiver.Ended = false }), attachedToN},
		"by one that failed":         {attachedBy(func(h *Handing) { h.Receiver.Result.Done = false }), attachedToN},
		"by one that is not there":   {attachedBy(func(h *Handing) { h.Receiver = Mover{} }), attachedToN},
		"by a foreign one":           {attachedBy(func(h *Handing) { h.Receiver.Foreign = true }), attachedToN},
		"by an earlier one":          {attachedBy(func(h *Handing) { h.Receiver.Attempt = 6 }), attachedToN},
		"by one on no node":          {attachedBy(func(h *Handing) { h.Receiver.Node = "" }), attachedToN},
		"by one with another root":   {attachedBy(func(h *Handing) { h.Receiver.Result.Root = "other" }), attachedToN},
		"by one without a lock":      {attachedBy(func(h *Handing) { h.Receiver.Result.Locked = false }), attachedToN},
		"by one beside others":       {attachedBy(func(h *Handing) { h.Unused = false }), attachedToN},
		"for several nodes":          {attachedBy(func(h *Handing) { h.Incoming.Volume.Modes = append(h.Incoming.Volume.Modes, corev1.ReadWriteMany) }), attachedToN},
		"for several that read":      {attachedBy(func(h *Handing) { h.Incoming.Volume.Modes = append(h.Incoming.Volume.Modes, corev1.ReadOnlyMany) }), attachedToN},
		"for an unknown number":      {attachedBy(func(h *Handing) { h.Incoming.Volume.Modes = nil }), attachedToN},
		"of somebody else":           {second(func(v *Volume) { v.ClaimRef.Name = "another" }), "blocked: ForeignVolume"},
		"not secured":                {second(unsecured), "Secure at the taker"},
		"its claim is gone":          {func(h *Handing) { unkept(h); h.Incoming.Claim = Claim{} }, "another attempt"},
		"its claim goes":             {func(h *Handing) { unkept(h); h.Incoming.Claim.Terminating = true }, "another attempt"},
		"its class retains it":       {func(h *Handing) { unsecured(&h.Incoming.Volume); h.Incoming.Claim = Claim{} }, "Secure at the taker"},
		"a claim that it outlives":   {func(h *Handing) { h.Incoming.Claim = Claim{} }, "Park at the taker"},
		"a claim is in the way":      {func(h *Handing) { h.Taker = secure(held("west", "")) }, "blocked: ForeignClaim"},
		"the claim is of the volume": {func(h *Handing) { h.Taker.Claim = Claim{Found: true, Volume: "second"} }, "Park at the taker"},
		"a claim that was kept":      {kept(func(*Holding) {}), "DeleteLost at the taker"},
		"its volume is another's":    {kept(func(h *Holding) { h.Volume.Note.By = "another" }), "blocked: ForeignClaim"},
		"its volume is not secured":  {kept(func(h *Holding) { h.Volume.Fence = "migration.0" }), "Secure at the taker"},
		"the binder lags":            {kept(func(h *Holding) { h.Claim.Phase = corev1.ClaimBound }), "claim west/data-web-0 is known to have lost its volume"},
		"it is being deleted":        {kept(func(h *Holding) { h.Claim.Terminating = true }), "claim west/data-web-0 is deleted"},
	}.run(t, filledSecond, Handing.HandOver)
	h := filledSecond()
	ready(&h)
	h.Taker.Claim.UID = "former"
	want := Ref{Namespace: "west", Name: "data-web-0", UID: "former"}
	if a := h.HandOver().Action; a.Ref != want || a.After.Seal != "root" || a.Volume != "second" {
		t.Errorf("pointed by %+v", a)
	}
}

// TestTakeOver: the ordinal's claim is created and bound only to the sealed volume, and then the first volume
// is parked.
func TestTakeOver(t *testing.T) {
	handingSteps{
		"bound":                     {as, "Park at the giver"},
		"and parked":                {first(func(v *Volume) { v.ClaimRef = Parked(Ref{Namespace: "east", Name: "data-web-0"}) }), ""},
		"the first volume is gone":  {first(func(v *Volume) { *v = Volume{} }), ""},
		"it was given back":         {first(func(v *Volume) { v.Released = "" }), "blocked: ForeignVolume"},
		"it is not secured":         {first(unsecured), "Secure at the giver"},
		"no seal is recorded":       {func(h *Handing) { h.Attempt.Seal.Root, h.Incoming.Volume.Seal = "", "" }, "blocked: CopyNotSealed"},
		"it bears no seal":          {second(func(v *Volume) { v.Seal = "" }), "blocked: CopyNotSealed"},
		"it bears another seal":     {second(func(v *Volume) { v.Seal = "another" }), "blocked: CopyNotSealed"},
		"the seal is of another":    {func(h *Handing) { h.Attempt.Seal.Volume = "another" }, "blocked: CopyNotSealed"},
		"under an older fence":      {second(func(v *Volume) { v.Fence = "migration.0" }), "TakeOver at the taker"},
		"no claim":                  {func(h *Handing) { h.Taker.Claim, h.Incoming.Volume.Phase = Claim{}, corev1.VolumeAvailable }, "CreateClaim at the taker"},
		"no claim, the binder lags": {func(h *Handing) { h.Taker.Claim = Claim{} }, "volume second is known to the binder"},
		"a claim of another volume": {func(h *Handing) { h.Taker.Claim.Volume = "another" }, "blocked: ForeignClaim"},
		"a claim of an older fence": {func(h *Handing) { h.Taker.Claim.Fence = "migration.0" }, "MarkClaim at the taker"},
		"the claim is not bound":    {func(h *Handing) { h.Taker.Claim.Phase = corev1.ClaimPending }, "MarkClaim at the taker, call 3"},
		"turned round":              {func(h *Handing) { h.Back, h.Taker.Claim.Phase = true, corev1.ClaimPending }, "MarkClaim at the giver, call 3"},
	}.run(t, takenOver, Handing.TakeOver)
	h := takenOver()
	if a := h.TakeOver().Action; a.After.Released != "" || a.Ref != Parked(h.Giver.Ref) {
		t.Errorf("parked by %+v", a)
	}
	h.Taker.Claim, h.Incoming.Volume.Phase, h.Incoming.Volume.Class = Claim{}, corev1.VolumeAvailable, "fast"
	if a := h.TakeOver().Action; a.Ref != h.Taker.Ref || a.Volume != "second" || a.Copy.Class != "fast" {
		t.Errorf("the claim is made by %+v", a)
	}
}

// TestGoBack: the first volume is pointed at the ordinal's claim again, once a pending take-over would be
// refused.
func TestGoBack(t *testing.T) {
	returned := func(h *Handing) {
		first(func(v *Volume) { v.ClaimRef = Ref{Namespace: "east", Name: "data-web-0", UID: "east-claim"} })(h)
	}
	handingSteps{
		"released":                       {as, "PointBack at the giver"},
		"the move has turned round":      {func(h *Handing) { h.Back = true }, "PointBack at the taker"},
		"there is no volume":             {first(func(v *Volume) { *v = Volume{} }), "blocked: VolumeLost"},
		"not secured":                    {first(unsecured), "Secure at the giver"},
		"the second one is not secured":  {second(unsecured), "Secure at the taker"},
		"there is no second one":         {second(func(v *Volume) { *v = Volume{} }), "PointBack at the giver"},
		"of somebody else":               {first(func(v *Volume) { v.ClaimRef.Name = "another" }), "blocked: ForeignVolume"},
		"returned":                       {returned, "DeleteLost at the giver"},
		"and its way is gone":            {func(h *Handing) { returned(h); h.Outgoing.Claim = Claim{} }, ""},
		"and its way is going":           {func(h *Handing) { returned(h); h.Outgoing.Claim.Terminating = true }, ""},
		"not bound again":                {func(h *Handing) { returned(h); h.Giver.Claim.Phase, h.Giver.Claim.Calls = corev1.ClaimLost, 2 }, "MarkClaim at the giver, call 3"},
		"not bound again, turned round":  {func(h *Handing) { returned(h); h.Back, h.Giver.Claim.Phase = true, corev1.ClaimLost }, "MarkClaim at the taker, call 1"},
		"its claim does not exist again": {func(h *Handing) { returned(h); h.Giver.Claim = Claim{} }, "MarkClaim at the giver, call 1"},
	}.run(t, filledSecond, Handing.GoBack)
	h := filledSecond()
	if a := h.GoBack().Action; a.After.Released != "" || a.Ref != (Ref{Namespace: "east", Name: "data-web-0", UID: "east-claim"}) {
		t.Errorf("pointed back by %+v", a)
	}
}

// TestLetGo: the incoming and the outgoing claim are deleted in the version that was judged.
func TestLetGo(t *testing.T) {
	handingSteps{
		"both":            {as, "DeleteLost at the taker"},
		"the other one":   {func(h *Handing) { h.Incoming.Claim = Claim{} }, "DeleteLost at the giver"},
		"one is going":    {func(h *Handing) { h.Incoming.Claim.Terminating = true }, "DeleteLost at the giver"},
		"nothing is left": {func(h *Handing) { h.Incoming.Claim, h.Outgoing.Claim = Claim{}, Claim{} }, ""},
	}.run(t, filledSecond, Handing.LetGo)
	h := filledSecond()
	if a := h.LetGo().Action; a.Ref != h.Incoming.Ref || a.UID != "in" || a.ResourceVersion != "1" {
		t.Errorf("deleted by %+v", a)
	}
}

// TestSecureOfSecond: the first volume is secured once under each fence, and the policy to restore is noted.
func TestSecureOfSecond(t *testing.T) {
	h := filledSecond()
	if got := h.Secure(h.Giver); !got.Done() {
		t.Errorf("again: %+v", got)
	}
	h.Giver = held("east", corev1.PersistentVolumeReclaimDelete)
	a := h.Secure(h.Giver).Action
	if a == nil || a.Verb != Secure || !a.AtGiver || a.After.Note != (Note{Policy: corev1.PersistentVolumeReclaimDelete, By: owner}) || a.Ref != h.Giver.Ref {
		t.Errorf("secured by %+v", a)
	}
}

// TestClaimDeletedWhileReleased: if a user deletes the claim of a volume that the outgoing claim has, the
// message names the volume's place and how to create the claim again.
func TestClaimDeletedWhileReleased(t *testing.T) {
	h := filledSecond()
	h.Giver.Claim, h.Giver.Volume = Claim{}, Volume{}
	told := h.Release().Hold
	for _, part := range []string{"east/data-web-0 was deleted", "volume " + h.Outgoing.Claim.Volume, h.Outgoing.Ref.Name, "intact"} {
		if told == nil || !strings.Contains(told.Message, part) {
			t.Errorf("%q is not told: %+v", part, told)
		}
	}
	if told != nil && !strings.Contains(told.Remedy, "spec.volumeName: "+h.Outgoing.Claim.Volume) {
		t.Errorf("%q", told.Remedy)
	}
}

package volumes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/internal/disk"
)

// among returns a function that finds volumes by name in a list.
func among(there ...Volume) func(string) Volume {
	return func(name string) Volume {
		for _, v := range there {
			if v.Name == name {
				return v
			}
		}
		return Volume{}
	}
}

// of returns a volume of a disk.
func of(name, handle string) Volume { return Volume{Found: true, Name: name, Handle: handle} }

// TestP17NameThere: a volume has the same name as on the other side, unless another disk has that name. A name
// that is in use stays.
func TestP17NameThere(t *testing.T) {
	other := OtherName("pv", Disk("d/h"))
	ours, noted, made := of("pv", "d/else"), of("pv", "d/h"), of(other, "d/h")
	ours.Ours, noted.There, made.There = true, other, "pv"
	for name, tc := range map[string]struct {
		from    Volume
		claimed string
		there   []Volume
		want    string
	}{
		"nothing is there":                         {of("pv", "d/h"), "", nil, "pv"},
		"the same disk":                            {of("pv", "d/h"), "", []Volume{of("pv", "d/h")}, "pv"},
		"another disk":                             {of("pv", "d/h"), "", []Volume{of("pv", "d/foreign")}, other},
		"another disk, and it was made already":    {of("pv", "d/h"), "", []Volume{of("pv", "d/foreign"), made}, other},
		"another disk, of this migration":          {of("pv", "d/h"), "", []Volume{ours}, "pv"},
		"the other disk went, and it is noted":     {noted, "", []Volume{made}, other},
		"noted, and nothing was made":              {noted, "", nil, other},
		"noted, and the same disk has the name":    {noted, "", []Volume{of("pv", "d/h")}, "pv"},
		"noted, and another disk has that":         {noted, "", []Volume{of(other, "d/foreign")}, "pv"},
		"the claim names it":                       {of("pv", "d/h"), other, []Volume{of("pv", "d/foreign")}, other},
		"the claim names another disk":             {of("pv", "d/h"), "pv", []Volume{of("pv", "d/foreign")}, "pv"},
		"the claim names somebody else's":          {of("pv", "d/h"), "theirs", []Volume{of("theirs", "d/foreign")}, "pv"},
		"the claim names what was made of it":      {Volume{Name: "pv"}, other, []Volume{made}, other},
		"both names are taken":                     {of("pv", "d/h"), "", []Volume{of("pv", "d/a"), of(other, "d/b")}, "pv"},
		"its storage is not known":                 {of("pv", disk.Unknown("pv")), "", []Volume{of("pv", "d/foreign")}, "pv"},
		"back":                                     {made, "", []Volume{noted}, "pv"},
		"back, and nothing is there":               {made, "", nil, "pv"},
		"back, and another disk has the name":      {made, "", []Volume{of("pv", "d/foreign")}, other},
		"back, the claim names what it was before": {made, "pv", []Volume{noted}, "pv"},
	} {
		if got := NameThere(NamingOf(tc.from), Place{Claimed: tc.claimed, Find: among(tc.there...)}); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestP17Called: the names on both sides are found from whichever of claims, volumes and record is left.
func TestP17Called(t *testing.T) {
	other := OtherName("pv", Disk("d/h"))
	noted, made, foreign := of("pv", "d/h"), of(other, "d/h"), of("pv", "d/foreign")
	noted.There, made.There = other, "pv"
	for name, tc := range map[string]struct {
		source, destination string
		here, there         []Volume
		recorded            string
		want                [2]string
	}{
		"before":                             {"pv", "", []Volume{of("pv", "d/h")}, []Volume{foreign}, "", [2]string{"pv", other}},
		"alike":                              {"pv", "", []Volume{of("pv", "d/h")}, nil, "pv", [2]string{"pv", "pv"}},
		"on its way":                         {"pv", "", []Volume{noted}, []Volume{foreign, made}, "pv", [2]string{"pv", other}},
		"moved":                              {"pv", other, []Volume{noted}, []Volume{foreign, made}, "", [2]string{"pv", other}},
		"moved, the source's claim is away":  {"", other, []Volume{noted}, []Volume{foreign, made}, "", [2]string{"pv", other}},
		"moved, the source's volume is away": {"pv", other, nil, []Volume{foreign, made}, "", [2]string{"pv", other}},
		"on its way, that is away":           {"pv", "", nil, []Volume{foreign, made}, "pv", [2]string{"pv", other}},
		"on its way, both are away":          {"pv", "", nil, []Volume{made}, "pv", [2]string{"pv", other}},
		"a later move the other way":         {other, "pv", []Volume{made}, []Volume{noted}, "", [2]string{other, "pv"}},
		"the claim names another one since":  {"new", "", []Volume{noted, of("new", "d/new")}, []Volume{foreign, made}, "pv", [2]string{"pv", other}},
		"its digest was not recorded":        {"pv", "", nil, []Volume{foreign}, "", [2]string{"pv", "pv"}},
		"nothing is known":                   {"", "", nil, []Volume{foreign}, "", [2]string{"", ""}},
	} {
		from, to := Place{tc.source, among(tc.here...)}, Place{tc.destination, among(tc.there...)}
		gotFrom, gotTo := Called(from, to, tc.recorded, Disk("d/h"))
		if got := [2]string{gotFrom, gotTo}; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestP17OtherNames: each name is valid for a volume, and differs for each disk.
func TestP17OtherNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}`).Draw(t, "name")
		handle := rapid.StringN(1, 20, -1).Draw(t, "handle")
		got := OtherName(name, Disk(handle))
		if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 || got == name {
			t.Fatalf("%s: %v", got, problems)
		}
		if got != OtherName(name, Disk(handle)) || got == OtherName(name, Disk(handle+"x")) {
			t.Fatalf("%s does not tell one disk from another", got)
		}
	})
}

// TestP17NameStays: once the giver's volume notes the name, no change to the disk with the first name changes
// it.
func TestP17NameStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := of("pv", "d/h")
		from.There = OtherName("pv", Disk("d/h"))
		there := map[string]Volume{}
		if rapid.Bool().Draw(t, "foreign") {
			there["pv"] = of("pv", rapid.SampledFrom([]string{"d/a", "d/b", ""}).Draw(t, "handle"))
		}
		if rapid.Bool().Draw(t, "made") {
			there[from.There] = of(from.There, "d/h")
		}
		claimed := rapid.SampledFrom([]string{"", from.There, "theirs"}).Draw(t, "claimed")
		if got := NameThere(NamingOf(from), Place{claimed, func(name string) Volume { return there[name] }}); got != from.There {
			t.Fatalf("it is called %s, with %v there and claim on %q", got, there, claimed)
		}
	})
}

// TestP17NotedFirst: another disk has taken the name since the giver's volume was parked. The new name is noted
// on that volume before the taker's volume is created under it. Otherwise the next process would look for it
// under the first name.
func TestP17NotedFirst(t *testing.T) {
	p := Pair{Owner: owner, Fence: fence, Giver: parked("east"), Taker: empty("west")}
	p.Taker.Name = OtherName("pv", Disk(p.Giver.Volume.Handle))
	if got := (Rebind{}).Transfer(p).Action; got == nil || got.Verb != Park || got.After.There != p.Taker.Name {
		t.Errorf("before it is noted: %+v", got)
	}
	p.Giver.Volume.There = p.Taker.Name
	if got := (Rebind{}).Transfer(p).Action; got == nil || got.Verb != CreateVolume || got.Volume != p.Taker.Name {
		t.Errorf("once it is noted: %+v", got)
	}
}

// TestP17Written: the write that parks a volume notes the name of the other side's. A volume created under
// another name notes the name of its original. Restore removes the note if the other side has no object of the
// disk any more.
func TestP17Written(t *testing.T) {
	other := OtherName("pv", Disk("d/h"))
	volume, claim := east()
	carrier := carrierOf(clustertest.Hooks{}, volume, claim)
	there := func(action Action) string {
		t.Helper()
		object, err := Apply(t.Context(), carrier, action, both)
		if err != nil {
			t.Fatal(err)
		}
		return ViewVolume(object.(*corev1.PersistentVolume), owner).There
	}
	if got := there(Action{Verb: Park, AtGiver: true, Volume: "pv", UID: "east-pv", ResourceVersion: "1", After: State{There: other}}); got != other {
		t.Errorf("parked, it notes %q", got)
	}
	if got := there(Action{Verb: CreateVolume, Volume: other, Ref: Parked(both.Taker.Ref), UID: "east-pv", Fence: fence}); got != "pv" {
		t.Errorf("what was made of it notes %q", got)
	}
	if got := there(Action{Verb: Restore, Volume: other, After: State{Fence: fence}}); got != "pv" {
		t.Errorf("with its policy, it notes %q", got)
	}
	if got := there(Action{Verb: Restore, Volume: other, Before: State{There: "pv"}}); got != "" {
		t.Errorf("alone, it notes %q", got)
	}
}

// TestP17Rebind: a volume moves there under another name and back, with each write once. After any of the
// writes, another process can continue. The other disk of that name is not written.
func TestP17Rebind(t *testing.T) {
	p := Pair{Owner: owner, Fence: fence, Giver: held("east", corev1.PersistentVolumeReclaimDelete), Taker: empty("west")}
	foreign := of("pv", "d/foreign")
	w := twoNames{t: t, pair: p, shelf: []Volume{foreign}}
	there := w.moves(Rebind{}.Prepare, Rebind{}.Transfer)
	other := OtherName("pv", Disk("d/h"))
	if want := "Secure pv, Park pv, CreateVolume " + other + ", Point " + other + ", CreateClaim " + other; there != want {
		t.Errorf("there: %s\nwant   %s", there, want)
	}
	if !w.pair.Taker.Bound() || w.pair.Taker.Volume.Name != other || !w.pair.Giver.Parked() {
		t.Errorf("it is not there: %+v", w.pair)
	}
	w.pair.Giver, w.pair.Taker = w.pair.Taker, w.pair.Giver
	w.back = true
	back := w.moves(Rebind{}.Prepare, Rebind{}.Transfer)
	if want := "Park " + other + ", Point pv"; back != want {
		t.Errorf("back: %s\nwant   %s", back, want)
	}
	if !w.pair.Taker.Bound() || w.pair.Taker.Volume.Name != "pv" || !cmp.Equal(w.shelf, []Volume{foreign}) {
		t.Errorf("it is not back: %+v, %+v", w.pair, w.shelf)
	}
}

// twoNames is a world in which the destination has another disk under the name of the source's volume.
type twoNames struct {
	t     *testing.T
	pair  Pair
	shelf []Volume // other volumes of the destination
	back  bool
}

// moves performs the steps of the methods until nothing is left, and lists the writes except for marks.
func (w *twoNames) moves(steps ...func(Pair) Verdict) string {
	w.t.Helper()
	var done []string
	for range 30 {
		w.call()
		verdict := First(func() Verdict { return steps[0](w.pair) }, func() Verdict { return steps[1](w.pair) })
		if w.pair.Giver.Parked() || w.pair.Taker.Claim.Found && w.pair.Taker.Claim.Phase == corev1.ClaimBound && w.pair.Taker.Bound() {
			verdict = steps[1](w.pair)
		}
		switch {
		case verdict.Hold != nil:
			w.t.Fatalf("after %v: %+v", done, verdict.Hold)
		case verdict.Action == nil && verdict.Waits == "":
			return strings.Join(done, ", ")
		case verdict.Action != nil:
			w.write(*verdict.Action)
			if verdict.Action.Verb != MarkClaim {
				done = append(done, string(verdict.Action.Verb)+" "+verdict.Action.Volume)
			}
		}
		w.bind(&w.pair.Giver)
		w.bind(&w.pair.Taker)
	}
	w.t.Fatalf("it does not end: %v", done)
	return ""
}

// call shows on both sides the volumes by their names, as an observer does.
func (w *twoNames) call() {
	from, to := &w.pair.Giver, &w.pair.Taker
	if w.back {
		from, to = to, from
	}
	all := append([]Volume{to.Volume}, w.shelf...)
	onSource, onDestination := Called(Place{from.Claim.Volume, among(from.Volume)}, Place{to.Claim.Volume, among(all...)}, "", "")
	from.Name, to.Name = onSource, onDestination
	to.Volume = among(all...)(onDestination)
}

func (w *twoNames) write(a Action) {
	at := &w.pair.Taker
	if a.AtGiver {
		at = &w.pair.Giver
	}
	if a.Verb != CreateVolume && a.Verb != CreateClaim && a.Verb != MarkClaim && a.Volume != at.Volume.Name {
		w.t.Fatalf("%s goes to volume %s, and there is %s", a.Verb, a.Volume, at.Volume.Name)
	}
	switch a.Verb {
	case CreateVolume:
		made := w.pair.Giver.Volume
		made.Name, made.There, made.UID, made.ClaimRef, made.Ours, made.Fence = a.Volume, w.pair.Giver.Volume.Name, "made", a.Ref, true, a.Fence
		at.Volume = made
	case CreateClaim:
		at.Claim = Claim{Found: true, UID: "made", Volume: a.Volume, Ours: true, Fence: a.Fence}
	case MarkClaim:
		at.Claim.Fence, at.Claim.Calls = a.Fence, a.Calls
	default:
		at.Volume = at.Volume.In(a.After)
	}
}

// bind acts as the binder.
func (w *twoNames) bind(h *Holding) {
	if !h.Volume.Found {
		return
	}
	h.Volume.Phase = corev1.VolumeAvailable
	if h.Claim.Found && h.Volume.ClaimRef.Names(h.Ref) && h.Claim.Volume == h.Volume.Name {
		h.Volume.ClaimRef.UID, h.Volume.Phase, h.Claim.Phase = h.Claim.UID, corev1.VolumeBound, corev1.ClaimBound
	} else if h.Claim.Found {
		h.Claim.Phase = corev1.ClaimLost
	}
}

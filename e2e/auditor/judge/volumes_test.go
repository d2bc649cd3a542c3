package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestBindings(t *testing.T) {
	claims := []ClaimState{makeClaim(1, "c1", "pv1")}
	bound := makeVolume("pv1", "disk", "data-web-1", "c1")
	stale := makeVolume("pv1", "disk", "data-web-1", "old")
	reserved := makeVolume("pv1", "disk", "data-web-1", "")
	parked := makeVolume("pv1", "disk", "sliceshift-parked", "")
	parked.RV = "2"
	elsewhere := bound
	elsewhere.ClaimNamespace = "other"
	touched := bound
	touched.RV = "2"
	cases := map[string]struct {
		first, second VolumeSide
		want          int
	}{
		"bound":                       {makeStorage(claims, bound), makeStorage(claims, bound), 1},
		"the volume has a stale uid":  {makeStorage(claims, stale), makeStorage(claims, stale), 0},
		"the volume has no uid yet":   {makeStorage(claims, reserved), makeStorage(claims, reserved), 0},
		"the volume is parked":        {makeStorage(claims, parked), makeStorage(claims, parked), 0},
		"a claim of that name abroad": {makeStorage(claims, elsewhere), makeStorage(claims, elsewhere), 0},
		"the claim names another volume": {
			makeStorage([]ClaimState{makeClaim(1, "c1", "pv2")}, bound),
			makeStorage([]ClaimState{makeClaim(1, "c1", "pv2")}, bound), 0,
		},
		"a race: parked between the phases":  {makeStorage(claims, bound), makeStorage(claims, parked), 0},
		"a race: written between the phases": {makeStorage(claims, bound), makeStorage(claims, touched), 0},
		"a race: the claim is gone":          {makeStorage(claims, bound), makeStorage(nil, bound), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := len(Bindings(tc.first, tc.second)); got != tc.want {
				t.Errorf("got %d bindings, want %d", got, tc.want)
			}
		})
	}
}

func TestSharedHandles(t *testing.T) {
	bind := func(ordinal int32, name, handle string) []Binding {
		claim := makeClaim(ordinal, "c-"+name, name)
		return []Binding{{Volume: makeVolume(name, handle, claim.Name, "c-"+name), Claim: claim}}
	}
	many := func(bound []Binding, ofAnOrdinal bool) []Binding {
		bound[0].Volume.Many = true
		if !ofAnOrdinal {
			bound[0].Claim.Key = nil
		}
		return bound
	}
	cases := map[string]struct {
		sides [2][]Binding
		want  int
	}{
		"all ordinals share it":                  {[2][]Binding{many(bind(1, "pv1", "fs"), false), many(bind(1, "pv9", "fs"), false)}, 0},
		"I2 staged: one machine may have it":     {[2][]Binding{many(bind(1, "pv1", "fs"), false), {{Volume: makeVolume("pv9", "fs", "x", "x"), Claim: ClaimState{Name: "x", UID: "x", VolumeName: "pv9"}}}}, 1},
		"I2 staged: an ordinal's, for many":      {[2][]Binding{many(bind(1, "pv1", "fs"), true), many(bind(1, "pv9", "fs"), true)}, 1},
		"different disks":                        {[2][]Binding{bind(1, "pv1", "disk1"), bind(2, "pv2", "disk2")}, 0},
		"one side only":                          {[2][]Binding{bind(1, "pv1", "disk1"), nil}, 0},
		"I2 staged: one disk on both":            {[2][]Binding{bind(1, "pv1", "disk1"), bind(1, "pv9", "disk1")}, 1},
		"I2 staged: one disk, two ordinals":      {[2][]Binding{bind(1, "pv1", "disk1"), bind(2, "pv9", "disk1")}, 1},
		"unknown kinds of volume say nothing":    {[2][]Binding{bind(1, "pv1", ""), bind(1, "pv9", "")}, 0},
		"I2 staged: one disk, a foreign claim's": {[2][]Binding{bind(1, "pv1", "disk1"), {{Volume: makeVolume("pv9", "disk1", "x", "x"), Claim: ClaimState{Name: "x", UID: "x", VolumeName: "pv9"}}}}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := len(SharedHandles(tc.sides)); got != tc.want {
				t.Errorf("got %d shared handles, want %d", got, tc.want)
			}
		})
	}
}

func TestJudgeHandles(t *testing.T) {
	key := VolumeKey{Ordinal: 1, Template: "data"}
	recorded := map[VolumeKey]Origin{key: {Handle: "disk1"}}
	bound := func(handle string) []Binding {
		return []Binding{{Volume: makeVolume("pv1", handle, "data-web-1", "c1"), Claim: makeClaim(1, "c1", "pv1")}}
	}
	cases := map[string]struct {
		bound     []Binding
		recorded  map[VolumeKey]Origin
		wantRight []VolumeKey
		wantWrong int
	}{
		"the recorded disk":         {bound("disk1"), recorded, []VolumeKey{key}, 0},
		"I3 staged: another disk":   {bound("disk2"), recorded, nil, 1},
		"nothing recorded":          {bound("disk2"), nil, nil, 0},
		"not a claim of the set":    {[]Binding{{Volume: makeVolume("pv1", "disk2", "x", "x"), Claim: ClaimState{Name: "x"}}}, recorded, nil, 0},
		"nothing bound, no verdict": {nil, recorded, nil, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			right, wrong := Handles(tc.bound, tc.recorded)
			if diff := cmp.Diff(tc.wantRight, right); diff != "" {
				t.Errorf("right (-want +got):\n%s", diff)
			}
			if len(wrong) != tc.wantWrong {
				t.Errorf("wrong is %v, want %d", wrong, tc.wantWrong)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	good := Binding{Volume: makeVolume("pv1", "disk1", "data-web-1", "c1"), Claim: makeClaim(1, "c1", "pv1")}
	with := func(change func(*Binding)) Binding {
		b := good
		change(&b)
		return b
	}
	cases := map[string]struct {
		b    Binding
		want string
	}{
		"the recorded disk": {good, ""},
		"I3 staged: no claim": {
			Binding{}, "the claim does not exist",
		},
		"I3 staged: not bound": {
			with(func(b *Binding) { b.Claim.VolumeName, b.Claim.Phase = "", corev1.ClaimPending }),
			`the claim is not bound, its phase is "Pending"`,
		},
		"I3 staged: the volume is gone": {
			with(func(b *Binding) { b.Volume = VolumeState{} }), "its volume pv1 does not exist",
		},
		"I3 staged: the volume is someone else's": {
			with(func(b *Binding) { b.Volume.ClaimUID = "x" }),
			`its volume pv1 belongs to claim "data-web-1" with uid "x"`,
		},
		"I3 staged: an empty disk": {
			with(func(b *Binding) { b.Volume.Handle = "disk2" }), `its volume pv1 is "disk2", not "disk1"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Claim(tc.b, Origin{Handle: "disk1"}); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestJudgeDeletions(t *testing.T) {
	volume := func(policy corev1.PersistentVolumeReclaimPolicy, phase corev1.PersistentVolumePhase) VolumeState {
		pv := makeVolume("pv1", "disk1", "data-web-1", "c1")
		pv.Policy, pv.Phase = policy, phase
		return pv
	}
	retain, remove, recycle := corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle
	cases := map[string]struct {
		pv                               VolumeState
		claim                            ClaimState
		wantFate, wantVolume, wantClaims bool
	}{
		"Retain, Bound":         {volume(retain, corev1.VolumeBound), makeClaim(1, "c1", "pv1"), false, false, false},
		"Retain, Released":      {volume(retain, corev1.VolumeReleased), makeClaim(1, "c1", "pv1"), false, false, false},
		"I3 staged: Delete":     {volume(remove, corev1.VolumeBound), makeClaim(1, "c1", "pv1"), false, true, true},
		"I3 staged: Recycle":    {volume(recycle, corev1.VolumeReleased), makeClaim(1, "c1", "pv1"), true, true, true},
		"I3 staged: Released":   {volume(remove, corev1.VolumeReleased), makeClaim(1, "c1", "pv1"), true, true, true},
		"I3 staged: Failed":     {volume(retain, corev1.VolumeFailed), makeClaim(1, "c1", "pv1"), true, false, false},
		"Delete, another's now": {volume(remove, corev1.VolumeBound), makeClaim(1, "old", "pv1"), false, true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Fate(tc.pv); (got != "") != tc.wantFate {
				t.Errorf("fate is %q, want one: %t", got, tc.wantFate)
			}
			if got := DeletedVolume(tc.pv); (got != "") != tc.wantVolume {
				t.Errorf("deleted volume is %q, want one: %t", got, tc.wantVolume)
			}
			if got := DeletedClaim(tc.claim, tc.pv); (got != "") != tc.wantClaims {
				t.Errorf("deleted claim is %q, want one: %t", got, tc.wantClaims)
			}
		})
	}
}

func TestLingering(t *testing.T) {
	g := Gift{To: Destination, Key: VolumeKey{Ordinal: 1, Template: "data"}, Revision: 50}
	at := func(side SideIndex, ordinal int32, born, died uint64) Lifetime {
		return Lifetime{Pod: readyPod(ordinal, "p"), Side: side, Born: born, Died: died}
	}
	cases := map[string]struct {
		pod  Lifetime
		want bool
	}{
		"gone before":                        {at(Source, 1, 10, 49), false},
		"I2 staged: gone after":              {at(Source, 1, 10, 51), true},
		"made after, when it was given back": {at(Source, 1, 60, 70), false},
		"its end is not known yet":           {at(Source, 1, 10, 0), false},
		"another ordinal":                    {at(Source, 2, 10, 51), false},
		"the new owner's own":                {at(Destination, 1, 10, 51), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := len(g.Lingering([]Lifetime{tc.pod})) > 0; got != tc.want {
				t.Errorf("lingering is %t, want %t", got, tc.want)
			}
		})
	}
}

func TestJudgeTakeover(t *testing.T) {
	given := makeVolume("pv9", "disk1", "data-web-1", "")
	given.RV = "50"
	attached := func(rv string) []Attachment {
		return []Attachment{{Name: "va", RV: rv, Volume: "pv1", Node: "n"}}
	}
	cases := map[string]struct {
		t        Takeover
		wantPod  bool
		wantLeft int
	}{
		"all let go": {t: Takeover{StillGiven: true}},
		"I2 staged: the pod is still there": {
			t:       Takeover{StillGiven: true, OtherPod: PodState{UID: "p", Terminating: true}},
			wantPod: true,
		},
		"I2 staged: the attachment is still there": {
			t:        Takeover{StillGiven: true, Attachments: attached("60")},
			wantLeft: 1,
		},
		"a race: taken away again before the pod was read": {
			t: Takeover{OtherPod: PodState{UID: "p"}, Attachments: attached("1")},
		},
		"one cluster: this side's own attachment": {
			t: Takeover{StillGiven: true, SameCluster: true, Attachments: attached("51")},
		},
		"I2 staged: one cluster: the other side's attachment": {
			t:        Takeover{StillGiven: true, SameCluster: true, Attachments: attached("49")},
			wantLeft: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.t.Given, tc.t.After = given, given
			pod, left := LeftBehind(tc.t)
			if pod != tc.wantPod || len(left) != tc.wantLeft {
				t.Errorf("got pod %t and %v, want %t and %d attachments", pod, left, tc.wantPod, tc.wantLeft)
			}
		})
	}
}

func TestCopied(t *testing.T) {
	bound := func(handle, folder string) Binding {
		volume := makeVolume("pv1", handle, "data-web-1", "c1")
		volume.Folder = folder
		return Binding{Volume: volume, Claim: makeClaim(1, "c1", "pv1")}
	}
	last := Origin{Handle: "old", Folder: "/old", Side: Source}
	stale := bound("new", "/new")
	stale.Volume.ClaimUID = "other"
	cases := map[string]struct {
		b    Binding
		last Origin
		want string
	}{
		"a copy":                   {bound("new", "/new"), last, ""},
		"I3 staged: no claim":      {Binding{}, last, "the claim does not exist"},
		"I3 staged: not usable":    {stale, last, `its volume pv1 belongs to claim "data-web-1" with uid "other"`},
		"I3 staged: the same disk": {bound("old", "/old"), last, `its volume pv1 is "old", which should have been copied, not carried over`},
		"it cannot be read":        {bound("new", ""), last, `the contents of "old" and "new" are not on this machine`},
		"the last one cannot":      {bound("new", "/new"), Origin{Handle: "old"}, `the contents of "old" and "new" are not on this machine`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Copied(tc.b, tc.last); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTwice(t *testing.T) {
	bind := func(ordinal int32, name string) []Binding {
		claim := makeClaim(ordinal, "c-"+name, name)
		return []Binding{{Volume: makeVolume(name, "disk-"+name, claim.Name, "c-"+name), Claim: claim}}
	}
	foreign := bind(1, "pv9")
	foreign[0].Claim.Key = nil
	cases := map[string]struct {
		sides     [2][]Binding
		templates []string
		want      int
	}{
		"I2 staged: one ordinal's claim on both": {[2][]Binding{bind(1, "pv1"), bind(1, "pv9")}, []string{"data"}, 1},
		"other ordinals":                         {[2][]Binding{bind(1, "pv1"), bind(2, "pv9")}, []string{"data"}, 0},
		"another template is copied":             {[2][]Binding{bind(1, "pv1"), bind(1, "pv9")}, []string{"wal"}, 0},
		"a claim that is nobody's":               {[2][]Binding{bind(1, "pv1"), foreign}, []string{"data"}, 0},
		"one side only":                          {[2][]Binding{bind(1, "pv1"), nil}, []string{"data"}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := len(Twice(tc.sides, tc.templates)); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

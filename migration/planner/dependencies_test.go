package planner

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// needing is a migration midway whose pods need ConfigMap a, which is copied: at the source it has content "2".
func needing(changes ...func(*plan.Snapshot, *plan.Dependency)) *planners {
	return midway(func(s *plan.Snapshot) {
		s.Spec.Dependencies.Copy = true
		d := plan.Dependency{Kind: "ConfigMap", Name: "a", From: "volume config", Origin: "2", Difference: "data.a: -1 +2"}
		for _, change := range changes {
			change(s, &d)
		}
		s.Dependencies = plan.Dependencies{Read: true, List: []plan.Dependency{d}}
	})
}

// there sets a copy at the destination, with the given content.
func there(content string, change func(*plan.Copy)) func(*plan.Snapshot, *plan.Dependency) {
	return func(_ *plan.Snapshot, d *plan.Dependency) {
		d.Copy = plan.Copy{Found: true, UID: "u", ResourceVersion: "@7", Hash: content}
		if change != nil {
			change(&d.Copy)
		}
	}
}

// copiedOnce sets a copy that was created when the source had content "1", edited by a manager or not.
func copiedOnce(by string, putBack int) func(*plan.Copy) {
	return func(c *plan.Copy) { c.Marked, c.Copied, c.EditedBy, c.PutBack = true, "1", by, putBack }
}

func asking(change func(*plan.DependencySpec)) func(*plan.Snapshot, *plan.Dependency) {
	return func(s *plan.Snapshot, _ *plan.Dependency) { change(&s.Spec.Dependencies) }
}

func having(change func(*plan.Dependency)) func(*plan.Snapshot, *plan.Dependency) {
	return func(_ *plan.Snapshot, d *plan.Dependency) { change(d) }
}

// fresh is a migration in which no ordinal has moved.
func fresh(s *plan.Snapshot, _ *plan.Dependency) {
	s.Destination.Set.Replicas, s.Destination.Pods, s.Source.Set.Replicas = 0, nil, 4
}

// TestCopies: a missing object is created at the destination, and a copy follows its origin. Other objects are
// overwritten only if the spec requests it (I9).
func TestCopies(t *testing.T) {
	const create, update, replace = "CreateCopy destination a ", "UpdateCopy destination a u@7", "DeleteCopy destination a u@7"
	overwrite := asking(func(a *plan.DependencySpec) { a.OnConflict = api.ConflictOverwrite })
	keep := asking(func(a *plan.DependencySpec) { a.OnConflict = api.ConflictKeep })
	stalls := asking(func(a *plan.DependencySpec) { a.OnChange = api.ChangeStall })
	rigid := func(s *plan.Snapshot, d *plan.Dependency) {
		d.Rigid, s.Record.Owed = true, []api.OwedCopy{{Kind: "ConfigMap", Name: "a", UID: "u"}}
	}
	storage := having(func(d *plan.Dependency) { d.Storage, d.Rigid = true, true })
	barred := having(func(d *plan.Dependency) {
		d.Barred = volumes.Reason{Reason: volumes.ReasonClaimNotShareable, Message: "m", Remedy: "r"}
	})
	unbound := func(c *plan.Copy) { c.Marked, c.Copied, c.Unbound = true, "2", true }
	others := having(func(d *plan.Dependency) { d.SelectsOthers = "shop/cache-0 in cluster east" })
	selects := func(policy api.SelectsOthersPolicy) func(*plan.Snapshot, *plan.Dependency) {
		return asking(func(a *plan.DependencySpec) { a.SelectsOthers = policy })
	}
	type changes = []func(*plan.Snapshot, *plan.Dependency)
	for name, tc := range map[string]struct {
		changes changes
		want    string
	}{
		"it lacks":                             {nil, create},
		"nobody has it":                        {changes{having(func(d *plan.Dependency) { d.Origin = "" })}, api.ReasonDependencyMissing},
		"its kind is not known":                {changes{having(func(d *plan.Dependency) { d.Unserved = true })}, api.ReasonDependencyMissing},
		"it selects others":                    {changes{others}, api.ReasonDependencySelects},
		"it selects others, stall":             {changes{others, selects(api.SelectsOthersStall)}, api.ReasonDependencySelects},
		"it selects others, leave":             {changes{others, selects(api.SelectsOthersLeave)}, ""},
		"it selects others, copy":              {changes{others, selects(api.SelectsOthersCopy)}, create},
		"the same":                             {changes{there("2", nil)}, ""},
		"the same, of another migration":       {changes{there("2", func(c *plan.Copy) { c.Anothers = true })}, update},
		"storage of another migration":         {changes{there("2", func(c *plan.Copy) { c.Anothers = true }), having(func(d *plan.Dependency) { d.Storage = true })}, update},
		"the same, edited":                     {changes{there("2", copiedOnce("kubectl", 0))}, ""},
		"being deleted":                        {changes{there("2", func(c *plan.Copy) { c.Terminating = true })}, api.ReasonAwaitingDeletion},
		"its origin is gone":                   {changes{there("1", copiedOnce("", 0)), having(func(d *plan.Dependency) { d.Origin = "" })}, ""},
		"stored in another form":               {changes{there("3", func(c *plan.Copy) { c.Marked, c.Copied = true, "2" })}, ""},
		"changed at the source":                {changes{there("1", copiedOnce("", 0))}, update},
		"changed at the source, stall":         {changes{there("1", copiedOnce("", 0)), stalls}, api.ReasonDependencyChanged},
		"changed before the first, stall":      {changes{there("1", copiedOnce("", 0)), stalls, fresh}, update},
		"changed, immutable":                   {changes{there("1", copiedOnce("", 0)), rigid}, replace},
		"somebody else's":                      {changes{there("1", nil)}, api.ReasonDependencyDiffers},
		"somebody else's, keep":                {changes{there("1", nil), keep}, ""},
		"somebody else's, overwrite":           {changes{there("1", nil), overwrite}, update},
		"somebody else's, immutable":           {changes{there("1", nil), rigid}, api.ReasonDependencyDiffers},
		"somebody else's, immutable, o.":       {changes{there("1", nil), rigid, overwrite}, api.ReasonDependencyDiffers},
		"edited":                               {changes{there("3", copiedOnce("kubectl", 0))}, api.ReasonDependencyDiffers},
		"edited, as it was copied":             {changes{there("3", func(c *plan.Copy) { c.Marked, c.Copied, c.EditedBy = true, "2", "kubectl" })}, api.ReasonDependencyDiffers},
		"another's count, overwrite":           {changes{there("3", func(c *plan.Copy) { c.PutBack = 3 }), overwrite}, update},
		"edited, keep":                         {changes{there("3", copiedOnce("kubectl", 0)), keep}, ""},
		"edited, overwrite":                    {changes{there("3", copiedOnce("kubectl", 0)), overwrite}, update},
		"edited, immutable, overwrite":         {changes{there("3", copiedOnce("kubectl", 0)), rigid, overwrite}, replace},
		"put back twice":                       {changes{there("3", copiedOnce("argocd", 2)), overwrite}, update},
		"put back three times":                 {changes{there("3", copiedOnce("argocd", 3)), overwrite}, api.ReasonDependencyDiffers},
		"put back three times, keep":           {changes{there("3", copiedOnce("argocd", 3)), keep}, ""},
		"put back three times, then unchanged": {changes{there("1", copiedOnce("", 3))}, update},
		"storage":                              {changes{storage}, create},
		"storage of one machine":               {changes{storage, barred}, volumes.ReasonClaimNotShareable},
		"it has become that of one":            {changes{storage, there("2", copiedOnce("", 0)), barred}, volumes.ReasonClaimNotShareable},
		"storage that is not bound":            {changes{storage, there("2", unbound)}, api.ReasonDependencyNotBound},
		"storage, changed at the source":       {changes{storage, there("1", copiedOnce("", 0))}, volumes.ReasonClaimDiverges},
		"somebody else's storage":              {changes{storage, there("1", nil)}, volumes.ReasonClaimDiverges},
		"somebody else's storage, overwrite":   {changes{storage, there("1", nil), overwrite}, volumes.ReasonClaimDiverges},
		"somebody else's storage, keep":        {changes{storage, there("1", nil), keep}, volumes.ReasonClaimDiverges},
		"edited storage, overwrite":            {changes{storage, there("3", copiedOnce("kubectl", 0)), overwrite}, volumes.ReasonClaimDiverges},
		"only looked for":                      {changes{asking(func(a *plan.DependencySpec) { a.Copy = false })}, ""},
		"without a source":                     {changes{func(s *plan.Snapshot, _ *plan.Dependency) { s.Source.Set.Presence = plan.Absent }}, ""},
		"in one namespace":                     {changes{func(s *plan.Snapshot, _ *plan.Dependency) { s.Spec.SameNamespace = true }}, ""},
	} {
		p := needing(tc.changes...)
		if got := does(dependencyPlanner{p.View}.copies()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestPutBackIsCounted: only changes by other managers are counted, and a recreated copy begins with 0.
func TestPutBackIsCounted(t *testing.T) {
	overwrite := asking(func(a *plan.DependencySpec) { a.OnConflict = api.ConflictOverwrite })
	rigid := func(s *plan.Snapshot, d *plan.Dependency) {
		d.Rigid, s.Record.Owed = true, []api.OwedCopy{{Kind: "ConfigMap", Name: "a", UID: "u"}}
	}
	for name, tc := range map[string]struct {
		change, also func(*plan.Snapshot, *plan.Dependency)
		want         plan.Copied
	}{
		"edited":                {there("3", copiedOnce("argocd", 1)), nil, plan.Copied{Origin: "2", PutBack: 2}},
		"edited, immutable":     {there("3", copiedOnce("argocd", 1)), rigid, plan.Copied{Origin: "2", PutBack: 0}},
		"changed at the source": {there("3", copiedOnce("", 1)), nil, plan.Copied{Origin: "2", PutBack: 1}},
		"changed, immutable":    {there("3", copiedOnce("", 1)), rigid, plan.Copied{Origin: "2", PutBack: 0}},
		"somebody else's":       {there("3", nil), nil, plan.Copied{Origin: "2", PutBack: 0}},
		"it lacks":              {func(*plan.Snapshot, *plan.Dependency) {}, nil, plan.Copied{Origin: "2", PutBack: 0}},
	} {
		changes := []func(*plan.Snapshot, *plan.Dependency){overwrite, tc.change}
		if tc.also != nil {
			changes = append(changes, tc.also)
		}
		decision := dependencyPlanner{needing(changes...).View}.copies()
		if decision == nil || decision.Effect == nil || decision.Effect.Copied != tc.want || decision.Effect.Kind != "ConfigMap" {
			t.Errorf("%s: %+v", name, decision)
		}
	}
}

// TestCopiesWaitForNobody: an ordinal that is down is started before anything that may wait (I6), and the objects
// that it may need are still created.
func TestCopiesWaitForNobody(t *testing.T) {
	down := func(s *plan.Snapshot, _ *plan.Dependency) {
		s.Record.Handoff = &api.Handoff{Ordinal: 2}
		s.Source.Set.Replicas = 2
	}
	if got := does(dependencyPlanner{needing(there("1", nil), down).View}.copies()); got != "" {
		t.Errorf("a conflict: %s", got)
	}
	if got := does(dependencyPlanner{needing(down).View}.copies()); got != "CreateCopy destination a " {
		t.Errorf("it lacks: %s", got)
	}
	p := needing(down)
	p.Dependencies = plan.Dependencies{Trouble: "forbidden"}
	if got := does(dependencyPlanner{p.View}.copies()); got != "" {
		t.Errorf("not read: %s", got)
	}
}

// TestUnreadDependencies: an object that was not read is not absent, and nothing is concluded from it.
func TestUnreadDependencies(t *testing.T) {
	for name, tc := range map[string]struct {
		trouble string
		right   bool
		stalled bool
		remedy  string
	}{"not yet": {"", false, false, ""}, "forbidden": {"secrets is forbidden", true, true, plan.RemedyDependencyRights}, "no answer": {"i/o timeout", false, true, plan.RemedyUnreachable}} {
		p := needing()
		p.Dependencies = plan.Dependencies{Trouble: tc.trouble, LacksRight: tc.right}
		decision := dependencyPlanner{p.View}.copies()
		if decision == nil || decision.Hold == nil || decision.Hold.Reason != api.ReasonDependencyNotRead || decision.Hold.Stalled != tc.stalled || decision.Hold.Remedy != tc.remedy || !strings.Contains(decision.Hold.Message, tc.trouble) {
			t.Errorf("%s: %+v", name, decision)
		}
	}
}

// TestCleanupOfCopies: the migration's copies are deleted if the spec requests it and no pod needs them any more,
// the last first. Objects that others created or changed remain (I9).
func TestCleanupOfCopies(t *testing.T) {
	ours := func(name string, change func(*plan.Copy)) plan.Dependency {
		d := plan.Dependency{Kind: "ConfigMap", Name: name, Copy: plan.Copy{Found: true, Ours: true, UID: "u-", ResourceVersion: "7"}}
		if change != nil {
			change(&d.Copy)
		}
		return d
	}
	back := func(s *plan.Snapshot) {
		s.Spec.Mode, s.Spec.Dependencies = api.ModeRollback, plan.DependencySpec{Copy: true, Delete: true}
		s.Destination.Set.Replicas, s.Destination.Pods, s.Source.Set.Replicas = 0, nil, 4
		s.Dependencies = plan.Dependencies{Read: true, List: []plan.Dependency{
			ours("a", nil), ours("b", nil), ours("not ours", func(c *plan.Copy) { c.Ours = false }), ours("edited", func(c *plan.Copy) { c.EditedBy = "kubectl" }),
			ours("going", func(c *plan.Copy) { c.Terminating = true }), ours("gone", func(c *plan.Copy) { c.Found = false }),
		}}
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"as asked":                    {func(*plan.Snapshot) {}, "DeleteCopy destination b u-7"},
		"not asked":                   {func(s *plan.Snapshot) { s.Spec.Dependencies.Delete = false }, ""},
		"not copied":                  {func(s *plan.Snapshot) { s.Spec.Dependencies.Copy = false }, ""},
		"it recovers":                 {func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRecover }, ""},
		"a pod is left":               {func(s *plan.Snapshot) { s.Destination.SetPod(plan.Pod{Ordinal: 3}) }, ""},
		"ordinals are":                {func(s *plan.Snapshot) { s.Destination.Set.Replicas = 1 }, ""},
		"not read":                    {func(s *plan.Snapshot) { s.Dependencies = plan.Dependencies{} }, api.ReasonDependencyNotRead},
		"one is used":                 {func(s *plan.Snapshot) { s.Dependencies.List[0].Copy.UsedBy = "shop/report-1" }, api.ReasonDependencyUsed},
		"others' is used":             {func(s *plan.Snapshot) { s.Dependencies.List[2].Copy.UsedBy = "shop/report-1" }, "DeleteCopy destination b u-7"},
		"one that is gone is used":    {func(s *plan.Snapshot) { s.Dependencies.List[5].Copy.UsedBy = "shop/report-1" }, "DeleteCopy destination b u-7"},
		"others' storage is not kept": {func(s *plan.Snapshot) { s.Dependencies.List[2].Copy.Releases = true }, "DeleteCopy destination b u-7"},
		"storage that is gone":        {func(s *plan.Snapshot) { s.Dependencies.List[5].Copy.Releases = true }, "DeleteCopy destination b u-7"},
		"nothing is left":             {func(s *plan.Snapshot) { s.Dependencies.List = s.Dependencies.List[2:] }, ""},
		"only one is left":            {func(s *plan.Snapshot) { s.Dependencies.List = s.Dependencies.List[:1] }, "DeleteCopy destination a u-7"},
	} {
		decision := dependencyPlanner{midway(plantest.InTurn(back, tc.change)).View}.cleanup()
		if got := does(decision); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if decision != nil && decision.Effect != nil && decision.Effect.Copied.PutBack != 0 {
			t.Errorf("%s: it counts a deletion: %+v", name, decision.Effect.Copied)
		}
	}
}

// TestDependencyFindings: all problems are reported before the first write, except those that a copy fixes.
func TestDependencyFindings(t *testing.T) {
	p := needing(fresh)
	p.Record = plan.Record{}
	p.Dependencies.List = []plan.Dependency{
		{Kind: "ConfigMap", Name: "lacks", Origin: "1"},
		{Kind: "Secret", Name: "nobody"},
		{Kind: "Service", Name: "others", Origin: "1", SelectsOthers: "shop/x in cluster east"},
		{Kind: "Secret", Name: "differs", Origin: "1", Copy: plan.Copy{Found: true, Hash: "2"}},
		{Kind: "Secret", Name: "going", Origin: "1", Copy: plan.Copy{Found: true, Hash: "2", Terminating: true}},
	}
	var got []string
	for _, finding := range dependencyFindings(p.Snapshot) {
		if finding.Warning || finding.Message == "" || finding.Remedy == "" {
			t.Errorf("%+v", finding)
		}
		got = append(got, finding.Reason+" "+finding.Object)
	}
	want := []string{
		"DependencyMissing Secret shop/nobody in cluster west", "DependencySelectsOthers Service shop/others in cluster west", "DependencyDiffers Secret shop/differs in cluster west",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p.Dependencies.List = []plan.Dependency{{Kind: "Secret", Name: "db", Origin: "1", KeptBy: "ExternalSecret db"}}
	findings := dependencyFindings(p.Snapshot)
	if len(findings) != 1 || !findings[0].Warning || findings[0].Reason != api.ReasonDependencyKept || !strings.Contains(findings[0].Message, "ExternalSecret db") {
		t.Errorf("of a Secret that something writes: %+v", findings)
	}
	p.Dependencies.List[0].Copy = plan.Copy{Found: true, Hash: "1"}
	if findings := dependencyFindings(p.Snapshot); len(findings) > 0 {
		t.Errorf("it is there: %+v", findings)
	}
	p.Spec.Dependencies.Copy = false
	if findings := dependencyFindings(p.Snapshot); len(findings) > 0 {
		t.Errorf("nothing is copied: %v", findings)
	}
}

// TestNothingIsWrittenOverSomethingElse: for any state, a write meets no object, or a copy that no other manager
// has changed, unless the spec requests otherwise. A copy is deleted for its replacement only if it is ours or
// from an earlier move (I9).
func TestNothingIsWrittenOverSomethingElse(t *testing.T) {
	hash := rapid.SampledFrom([]string{"1", "2", "3"})
	rapid.Check(t, func(t *rapid.T) {
		policies := []api.ConflictPolicy{"", api.ConflictStall, api.ConflictKeep, api.ConflictOverwrite}
		asked := rapid.SampledFrom(policies).Draw(t, "onConflict")
		c := plan.Copy{
			Found: rapid.Bool().Draw(t, "found"), Hash: hash.Draw(t, "hash"), Marked: rapid.Bool().Draw(t, "marked"), Copied: hash.Draw(t, "copied"),
			PutBack: rapid.IntRange(0, 4).Draw(t, "putBack"), EditedBy: rapid.SampledFrom([]string{"", "kubectl"}).Draw(t, "editedBy"),
		}
		if !c.Found {
			c = plan.Copy{}
		}
		p := needing(func(s *plan.Snapshot, d *plan.Dependency) {
			s.Spec.Dependencies.OnConflict, d.Copy = asked, c
			d.Origin, d.Rigid = rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "origin"), rapid.Bool().Draw(t, "rigid")
		})
		decision := dependencyPlanner{p.View}.copies()
		if decision == nil || decision.Effect == nil {
			return
		}
		verb, untouched := decision.Effect.Verb, c.Marked && c.EditedBy == ""
		switch {
		case verb == plan.CreateCopy && c.Found:
			t.Fatal("it is there")
		case verb == plan.UpdateCopy && !untouched && asked != api.ConflictOverwrite, verb == plan.DeleteCopy && !c.Marked:
			t.Fatalf("%s over %+v", verb, c)
		case verb == plan.DeleteCopy && !untouched && asked != api.ConflictOverwrite, c.Marked && c.EditedBy != "" && c.PutBack >= mostPutBack:
			t.Fatalf("%s of %+v", verb, c)
		case decision.Effect.Copied.Origin == "" || slices.Contains([]string{"", c.Hash}, p.Dependencies.List[0].Origin) && c.Found:
			t.Fatal("nothing is to be copied")
		}
	})
}

// TestCopiesOfStorageGo: in a rollback, the claim is deleted before its volume, and only while that does not
// delete the storage (I3).
func TestCopiesOfStorageGo(t *testing.T) {
	for policy, want := range map[bool]string{false: "DeleteCopy destination b v@8", true: volumes.ReasonVolumeNotRetain} {
		p := needing(func(s *plan.Snapshot, _ *plan.Dependency) {
			s.Spec.Mode, s.Spec.Dependencies.Delete = api.ModeRollback, true
			s.Destination.Set.Replicas, s.Destination.Pods = 0, nil
		})
		p.Dependencies.List = []plan.Dependency{
			{Kind: "PersistentVolume", Name: "a", Storage: true, ClusterWide: true, Copy: plan.Copy{Found: true, Ours: true, UID: "u", ResourceVersion: "@7", Releases: policy}},
			{Kind: "PersistentVolumeClaim", Name: "b", Storage: true, Copy: plan.Copy{Found: true, Ours: true, UID: "v", ResourceVersion: "@8"}},
		}
		if got := does(dependencyPlanner{p.View}.cleanup()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestBarredStorageIsToldOnce: a claim and its volume are one finding, other objects have their own, and later
// findings are reported, too.
func TestBarredStorageIsToldOnce(t *testing.T) {
	p := needing(fresh)
	barred := volumes.Reason{Reason: volumes.ReasonClaimNotShareable, Message: "m", Remedy: "r"}
	other := volumes.Reason{Reason: volumes.ReasonClaimNotShareable, Message: "n", Remedy: "r"}
	p.Dependencies.List = []plan.Dependency{
		{Kind: "PersistentVolume", Name: "a", Barred: barred},
		{Kind: "PersistentVolumeClaim", Name: "b", Barred: barred},
		{Kind: "PersistentVolumeClaim", Name: "c", Barred: other},
		{Kind: "Secret", Name: "nobody"},
	}
	var got []string
	for _, finding := range dependencyFindings(p.Snapshot) {
		got = append(got, finding.Reason+" "+finding.Object)
	}
	want := []string{
		volumes.ReasonClaimNotShareable + " PersistentVolume shop/a in cluster west", volumes.ReasonClaimNotShareable + " PersistentVolumeClaim shop/c in cluster west",
		"DependencyMissing Secret shop/nobody in cluster west",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestConflictsAreExplained: the message names who changed a copy, or who needs an object that is not a copy.
func TestConflictsAreExplained(t *testing.T) {
	for says, copied := range map[string]func(*plan.Copy){
		"is a copy, and kubectl has changed it; it would change so: data.a: -1 +2": copiedOnce("kubectl", 0),
		"differs from the one in cluster east, and volume config needs it":         nil,
	} {
		decision := dependencyPlanner{needing(there("3", copied)).View}.copies()
		if decision == nil || decision.Hold == nil || !strings.Contains(decision.Hold.Message, says) {
			t.Errorf("it does not say %q: %+v", says, decision)
		}
	}
}

// TestRemediesOfRights: the remedy for a missing permission names the role that has it.
func TestRemediesOfRights(t *testing.T) {
	carries := func(verb volumes.Verb) plan.Effect {
		return plan.Effect{Verb: plan.CarryVolume, Volume: volumes.Action{Verb: verb}}
	}
	placeholder := carries(volumes.CreateMover)
	placeholder.Volume.Copy.Role = volumes.RolePlaceholder
	for remedy, effects := range map[string][]plan.Effect{
		plan.RemedyDependencyRights: {{Verb: plan.CreateCopy}, {Verb: plan.UpdateCopy}, {Verb: plan.DeleteCopy}},
		plan.RemedyJobRights:        {{Verb: plan.RunHook}, {Verb: plan.StartHook}},
		plan.RemedyWriterRights:     {{Verb: plan.PauseWriter}, {Verb: plan.ReleaseWriter}, {Verb: plan.UnmarkWriter}},
		plan.RemedyMoverRights:      {carries(volumes.CreateMover), carries(volumes.MarkMover), carries(volumes.TellMover), carries(volumes.DeleteMover)},
		plan.RemedySnapshotRights: {
			carries(volumes.CreateSnapshot), carries(volumes.RetainContent), carries(volumes.LoosenContent), carries(volumes.CreateContent),
			carries(volumes.CreateImport), carries(volumes.DeleteSnapshot), carries(volumes.DeleteContent),
			carries(volumes.TakeBase), carries(volumes.DropBaseSnapshot), placeholder,
		},
		plan.RemedyRights: {{Verb: plan.ScaleDown, Volume: placeholder.Volume}, {Verb: plan.CreateSet}, carries(volumes.Park), {Verb: plan.ScaleUp, Volume: volumes.Action{Verb: volumes.CreateMover}}},
	} {
		for _, e := range effects {
			if got := e.RemedyRights(); got != remedy || got == "" {
				t.Errorf("%s %s: %q", e.Verb, e.Volume.Verb, got)
			}
		}
	}
}

package evacuate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/admission"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/look"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/sets"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/preflight/scheduling"
	"github.com/sliceshift/sliceshift/volumes"
)

// judged is a set with its migration, its observed state and its plan.
type judged struct {
	sets.Found
	m        *api.Migration
	snapshot plan.Snapshot
	plan     preview.Plan
}

// set plans the move of one set alone, and returns its facts for the evacuation.
func (r *reader) set(ctx context.Context, found sets.Found) (evacuate.Set, error) {
	m, err := r.migration(found)
	if err != nil {
		return evacuate.Set{}, err
	}
	j, err := r.judge(ctx, found, m)
	if err != nil {
		return evacuate.Set{}, err
	}
	for _, method := range r.methods {
		other := r.instead(j, method)
		if other == nil {
			break
		}
		again, err := r.judge(ctx, found, other)
		if err != nil {
			return evacuate.Set{}, err
		}
		if !again.plan.Refused {
			j = again
			break
		}
	}
	r.mu.Lock()
	r.specs[client.ObjectKeyFromObject(found)] = j.m.Spec
	r.mu.Unlock()
	return r.factsOf(j), nil
}

// migration returns the migration of a set, with the settings of the flags that concern it.
func (r *reader) migration(found sets.Found) (*api.Migration, error) {
	r.mu.Lock() // the flags keep the recipe that they apply
	spec, err := r.spec.Spec(found.Name, flags.Destination{Namespace: found.Namespace, Name: found.Name})
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	spec.Source.APIVersion, spec.Wave = found.Kind.APIVersion(), r.wave(client.ObjectKeyFromObject(found))
	templates := templatesOf(found)
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v api.VolumeSpec) bool { return !slices.Contains(templates, v.ClaimTemplate) })
	for i := range found.Spec.VolumeClaimTemplates {
		template := &found.Spec.VolumeClaimTemplates[i]
		if class := r.mappedClass(template); class != "" {
			asked := askedFor(&spec, template.Name)
			asked.StorageClassName = cmp.Or(asked.StorageClassName, &class)
		}
	}
	return &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: found.Namespace, Name: found.Name}, Spec: spec}, nil
}

// admit refuses settings that make no valid Migration. Those of all sets are the same, except which templates they have, so
// one check is enough: the resource definition is large.
func (o *options) admit(ctx context.Context) error {
	spec, err := o.spec.Spec("all", flags.Destination{})
	if err != nil {
		return err
	}
	for i, class := range slices.Sorted(maps.Values(o.classes)) {
		spec.Volumes = append(spec.Volumes, api.VolumeSpec{ClaimTemplate: fmt.Sprintf("mapped-%d", i), Method: api.MethodRebind, StorageClassName: &class})
	}
	if err := admission.Spec(ctx, spec); err != nil {
		return command.Usagef("these settings make no valid Migration:\n%v", err)
	}
	return nil
}

// mappedClass returns the class to which the flags map that of a claim template; empty if they do not.
func (r *reader) mappedClass(template *corev1.PersistentVolumeClaim) string {
	class := volumes.FindClass(volumes.ClassNamed(template), r.classesHere)
	if class == nil {
		return r.options.classes[ptr.Deref(volumes.ClassNamed(template), "")]
	}
	return r.options.classes[class.Name]
}

// askedFor returns the settings of a claim template in a spec, which are added if there are none.
func askedFor(spec *api.MigrationSpec, template string) *api.VolumeSpec {
	at := slices.IndexFunc(spec.Volumes, func(v api.VolumeSpec) bool { return v.ClaimTemplate == template })
	if at < 0 {
		at = len(spec.Volumes)
		spec.Volumes = append(spec.Volumes, api.VolumeSpec{ClaimTemplate: template, Method: api.MethodRebind})
	}
	return &spec.Volumes[at]
}

// judge observes both sides of a set, and plans its move.
func (r *reader) judge(ctx context.Context, found sets.Found, m *api.Migration) (judged, error) {
	store := records.ConfigMap{Client: r.source.Live(), Namespace: m.Namespace, Name: m.Name}
	snapshot, err := look.Both(ctx, r.source, r.destination, store, m)
	if err != nil {
		return judged{}, fmt.Errorf("StatefulSet %s/%s: %w", found.Namespace, found.Name, err)
	}
	if known := r.measured[copies(m)]; known.outage.Measured > 0 {
		snapshot.Record.Outage = &known.outage
	}
	return judged{found, m, snapshot, preview.NewPlan(m, preview.Beginning, snapshot)}, nil
}

// copies reports whether a volume of a migration is copied.
func copies(m *api.Migration) bool {
	return slices.ContainsFunc(m.Spec.Volumes, func(v api.VolumeSpec) bool { return v.Method == api.MethodCopy })
}

// instead returns the migration with another method for the claim templates that cannot be rebound; nil if nothing is
// against that.
func (r *reader) instead(j judged, method api.VolumeMethod) *api.Migration {
	m := j.m.DeepCopy()
	changed := false
	for _, t := range j.plan.Templates {
		barred := func(c preview.Choice) bool { return c.Method == api.MethodRebind && c.Reason != "" }
		if t.Method != api.MethodRebind || !slices.ContainsFunc(t.Methods, barred) {
			continue
		}
		asked := askedFor(&m.Spec, t.ClaimTemplate)
		if asked.Method, changed = method, true; method == api.MethodCopy {
			asked.Copy = api.CopySpec{Image: r.image, Transport: api.TransportRelay}
		}
	}
	if !changed {
		return nil
	}
	return m
}

// factsOf returns the facts of a set for the plan of an evacuation.
func (r *reader) factsOf(j judged) evacuate.Set {
	name := client.ObjectKeyFromObject(j)
	s := evacuate.Set{
		Name: name, APIVersion: j.Kind.APIVersion(), Wave: j.m.Spec.Wave, Replicas: j.plan.Summary.Replicas, Budget: j.plan.Summary.Budget,
		AtOnce: j.plan.Summary.MaxInFlight, Begun: r.underWay[name], Obstacles: r.obstaclesOf(j, name), Idle: ptr.Deref(j.Spec.Replicas, 1) == 0, Quota: preflight.Arriving(j.m, j.StatefulSet), Templates: r.templatesOf(j),
	}
	if ref := metav1.GetControllerOf(j); ref != nil {
		s.Owner = ref.Kind + "/" + ref.Name
	}
	for _, ordinal := range j.snapshot.OrdinalsToMove() {
		pod, _ := j.snapshot.Source.Pod(ordinal)
		s.Ordinals = append(s.Ordinals, evacuate.Ordinal{Ordinal: ordinal, Node: pod.Node})
	}
	for i := range j.snapshot.Volumes {
		if class := j.snapshot.Volumes[i].Source.Volume.Class; class != "" && !slices.Contains(s.Classes, class) {
			s.Classes = append(s.Classes, class)
		}
	}
	slices.Sort(s.Classes)
	s.Expected = r.expectedOf(j, s)
	s.Pod = evacuate.Pod{Amounts: amountsOf(j.Spec.Template.Spec), Nodes: r.nodesFor(j), Volumes: map[string]int64{}}
	for _, t := range s.Templates {
		if t.Driver != "" {
			s.Pod.Volumes[t.Driver]++
		}
	}
	if r.waits(name) {
		s.Uses = evacuate.Uses(name, textsOf(j.Namespace, j.Spec.Template.Spec, templatesOf(j.Found), r.configMaps), r.services)
	}
	return s
}

// claims returns the finding that another migration moves a set, or will when it is resumed.
func (r *reader) claims(name evacuate.Name) []plan.Finding {
	m, found := r.claimed[name]
	if !found {
		return nil
	}
	return []plan.Finding{{
		Reason: api.ReasonHeldByAnother, Object: "StatefulSet " + name.String(),
		Message: fmt.Sprintf("%s in cluster %s, in mode %s, moves StatefulSet %s already: only one of two can", m.Title(), r.source.Name(), cmp.Or(m.Spec.Mode, api.ModeRun), name),
		Remedy:  "let it move: " + r.Again("status", m.Name, m.Namespace) + "; or delete it, if it has not begun",
	}}
}

// obstaclesOf returns the findings that forbid the move of a set, or the reason for which its move would stall. The
// migration that moves it already is named once, although its fence is found, too. A set that is under way for the
// Evacuation that is written again has none: its own Migration reports them.
func (r *reader) obstaclesOf(j judged, name evacuate.Name) []plan.Finding {
	if r.underWay[name] {
		return nil
	}
	p, obstacles := j.plan, r.claims(name)
	claimed := len(obstacles) > 0
	for _, f := range p.Findings {
		if !f.Warning && (!claimed || f.Reason != api.ReasonHeldByAnother) {
			obstacles = append(obstacles, f)
		}
	}
	if stall := p.Stalled; stall != nil && len(obstacles) == 0 {
		obstacles = append(obstacles, plan.Finding{Reason: stall.Reason, Object: "StatefulSet " + name.String(), Message: stall.Message, Remedy: stall.Remedy})
	}
	return obstacles
}

// templatesOf returns the names of the claim templates of a set.
func templatesOf(found sets.Found) []string {
	names := make([]string, len(found.Spec.VolumeClaimTemplates))
	for i := range found.Spec.VolumeClaimTemplates {
		names[i] = found.Spec.VolumeClaimTemplates[i].Name
	}
	return names
}

// templatesOf returns the claim templates of a set, with the volumes of the ordinals that move.
func (r *reader) templatesOf(j judged) []evacuate.Template {
	var all []evacuate.Template
	for i := range j.Spec.VolumeClaimTemplates {
		claim := j.Spec.VolumeClaimTemplates[i].DeepCopy()
		asked := api.AskedOf(j.m.Spec.Volumes, claim.Name)
		t := evacuate.Template{Name: claim.Name, Method: cmp.Or(asked.Method, api.MethodRebind)}
		classes := r.classesHere
		if t.Fills() {
			classes = r.classes
		}
		named := cmp.Or(asked.StorageClassName, volumes.ClassNamed(claim))
		t.Class = ptr.Deref(named, "")
		if class := volumes.FindClass(named, classes); class != nil {
			t.Class, t.Driver = class.Name, class.Provisioner
		}
		for k := range j.snapshot.Volumes {
			if v := &j.snapshot.Volumes[k]; v.Template == claim.Name && j.snapshot.ToMove(v.Ordinal) {
				t.Claims++
				t.Bytes += v.Source.Volume.Size
				t.Largest = max(t.Largest, v.Source.Volume.Size)
			}
		}
		all = append(all, t)
	}
	return all
}

// expectedOf returns the expected time of each handoff of a set. A volume is copied before the ordinal stops.
func (r *reader) expectedOf(j judged, s evacuate.Set) evacuate.Expected {
	sum := j.plan.Summary
	e := evacuate.Expected{Soak: inSeconds(sum.SoakSeconds)}
	if sum.Outage != nil {
		e.Down, e.Measured = inSeconds(sum.Outage.Seconds), sum.Outage.Measured
	}
	e.Handoff = inSeconds(float64(sum.HandoffSeconds))
	if took := r.measured[copies(j.m)].took; took > 0 {
		e.Handoff = took
	}
	e.Handoff = max(e.Handoff, e.Down+e.Soak)
	for _, t := range s.Templates {
		if t.Method == api.MethodCopy && len(s.Ordinals) > 0 {
			e.Handoff += inSeconds(float64(t.Bytes) / float64(len(s.Ordinals)) / float64(r.bytes))
		}
	}
	return e
}

func inSeconds(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// nodesFor returns the nodes of the destination that could take a pod of a set if they were empty; nil if all could.
func (r *reader) nodesFor(j judged) []string {
	if len(r.nodes) == 0 {
		return nil
	}
	demand := scheduling.Demand{
		Object: j.snapshot.Source.Object(), Cluster: r.destination.Name(), Kubectl: j.snapshot.Destination.Kubectl(),
		Namespace: j.Namespace, Template: j.Spec.Template, Pods: 1,
	}
	fitting, _ := scheduling.Fit(demand, r.nodes)
	if len(fitting) == len(r.nodes) {
		return nil
	}
	names := make([]string, len(fitting))
	for i, node := range fitting {
		names[i] = node.Name
	}
	return names
}

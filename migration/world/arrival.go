package world

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// arrivalFor is how long an answer about an ordinal is valid.
const arrivalFor = 30 * time.Second

// Arriving is an ordinal that is about to be stopped, as observed.
type Arriving struct {
	Migration *api.Migration
	Ordinal   int32
	// Looks is true if no stop depends on the answer.
	Looks bool
	// To is the side that takes the ordinal. From is the StatefulSet that it leaves, and Set the one that it joins.
	To        plan.SideName
	From, Set *appsv1.StatefulSet
	// Claims are the claims that the ordinal leaves, and Volumes their volumes, if they were read completely: caches
	// keep only some fields. There lists the claims that the taker already has.
	Claims  []corev1.PersistentVolumeClaim
	Volumes []corev1.PersistentVolume
	There   map[string]bool
}

// arrived is the last answer about an ordinal, with its time.
type arrived struct {
	plan.Arrival
	at time.Time
}

// arrival returns whether the next ordinal can start on the other side. It is requested if a decision depends on it,
// and repeated while the answer is negative.
func (e *Observer) arrival(ctx context.Context, m *api.Migration, s plan.Snapshot, sides map[plan.SideName]*observed, sc planner.Reads) (*plan.Arrival, error) {
	giver := planner.Giver(s)
	known, old := e.arrived, e.Clock.Since(e.arrived.at) >= arrivalFor
	ours := !known.at.IsZero() && known.Side == giver.Other() && s.Side(giver).Set.Has(known.Ordinal)
	switch {
	case e.LetsIn == nil || s.Side(giver).Lost || s.Early != nil:
		return nil, nil
	case sc.Looks:
		return e.lookAtArrival(ctx, m, s, sides)
	case sc.Arrival != nil && (!ours || old || known.Ordinal != *sc.Arrival):
		return e.askArrival(ctx, Arriving{Migration: m, Ordinal: *sc.Arrival}, sides, giver)
	case sc.Arrival == nil && ours && old && known.Finding != nil && (sc.Ordinal == nil || *sc.Ordinal == known.Ordinal):
		return e.askArrival(ctx, Arriving{Migration: m, Ordinal: known.Ordinal}, sides, giver)
	case !ours || old && known.Finding == nil:
		return nil, nil
	}
	return new(known.Arrival), nil
}

// startsAgain returns whether the pod of an ordinal can start again whose volumes are replaced in place.
func (e *Observer) startsAgain(ctx context.Context, m *api.Migration, set *appsv1.StatefulSet, sc planner.Reads) (*plan.Arrival, error) {
	known, old := e.arrived, e.Clock.Since(e.arrived.at) >= arrivalFor
	about := Arriving{Migration: m, Ordinal: known.Ordinal, To: plan.DestinationSide, From: set, Set: set}
	switch {
	case e.LetsIn == nil || set == nil:
		return nil, nil
	case sc.Arrival != nil && (old || known.Ordinal != *sc.Arrival):
		about.Ordinal = *sc.Arrival
	case !old:
		return new(known.Arrival), nil
	case known.Finding == nil:
		return nil, nil
	}
	finding, err := e.LetsIn(ctx, about)
	if err != nil {
		return nil, err
	}
	e.arrived = arrived{plan.Arrival{Ordinal: about.Ordinal, Side: about.To, Finding: finding}, e.Clock.Now()}
	return new(e.arrived.Arrival), nil
}

// lookAtArrival requests the answer for the next ordinal, after the migration has started.
func (e *Observer) lookAtArrival(ctx context.Context, m *api.Migration, s plan.Snapshot, sides map[plan.SideName]*observed) (*plan.Arrival, error) {
	giver := planner.Giver(s)
	ordinal, more := planner.NextOrdinal(s)
	if s.Record.Baseline == nil || !more || !s.Side(giver).Set.Has(ordinal) {
		return nil, nil
	}
	return e.askArrival(ctx, Arriving{Migration: m, Ordinal: ordinal, Looks: true}, sides, giver)
}

func (e *Observer) askArrival(ctx context.Context, about Arriving, sides map[plan.SideName]*observed, giver plan.SideName) (*plan.Arrival, error) {
	from, to := sides[giver], sides[giver.Other()]
	if from.set == nil {
		return nil, nil
	}
	about.To, about.From, about.Set, about.There = giver.Other(), from.set, to.set, map[string]bool{}
	for name := range to.claims {
		about.There[name] = true
	}
	for _, template := range ClaimTemplates(from.set) {
		claim := from.claims[plan.ClaimName(template, from.set.Name, about.Ordinal)]
		if claim == nil || len(claim.Spec.AccessModes) == 0 {
			continue
		}
		about.Claims = append(about.Claims, *claim)
		if volume := from.volumes[claim.Spec.VolumeName]; volume != nil && len(volume.Spec.Capacity) > 0 {
			about.Volumes = append(about.Volumes, *volume)
		}
	}
	finding, err := e.LetsIn(ctx, about)
	if err != nil {
		return nil, err
	}
	answer := plan.Arrival{Ordinal: about.Ordinal, Side: about.To, Finding: finding}
	if !about.Looks {
		e.arrived = arrived{answer, e.Clock.Now()}
	}
	return &answer, nil
}

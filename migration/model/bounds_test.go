package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// bound is a world whose states are explored, and its possible faults.
type bound struct {
	name string
	plantest.Scenario
	// faults is the number of faults in a run. kinds lists the kinds of faults; empty means all.
	faults int
	kinds  kindsOfFault
	// lives lists the migrations that may follow an ended one.
	lives []life
}

// Kinds of faults that are explored in pairs, where pairs of all kinds would be too many.
var (
	ofWrites  = kindsOfFault{faulty, slow, takeover, turns, deletion}
	ofReads   = kindsOfFault{slow, slowRead, standsOn, evicting, fails, turns}
	ofPodsToo = kindsOfFault{evicting, fails, deleted, nodeLost, turns, slow}
	ofOthers  = kindsOfFault{foreign, faulty, slow, turns}
	ofReach   = kindsOfFault{cutSide, strays, faulty, slow, turns}
	ofRolls   = kindsOfFault{rolls, asks, standsOn, slow, slowRead, faulty, fails, turns, deletion}
	ofAsked   = kindsOfFault{asks, standsOn}
	ofBudgets = kindsOfFault{rolls, asks, evicting, slow, turns}
	ofHarms   = kindsOfFault{harm, turns}
	ofSick    = kindsOfFault{sickens, nodeLost, rolls, turns}
	ofPins    = kindsOfFault{pins, harm, turns}
	ofNative  = kindsOfFault{rolls, evicting, fails, turns, slow}
	ofLate    = kindsOfFault{lateMade, slow, turns}
	ofLives   = kindsOfFault{faulty, harm, turns, deletion}
	ofHooks   = kindsOfFault{breaksHook, faulty, slow, takeover, turns, deletion}
)

// Migrations that may follow another one: the rest, back again, and back again after the owner has set the
// volumes to Retain.
var following = []life{{}, {back: true}, {back: true, retains: true}, {count: 1}, {back: true, count: 1}, {deletes: true}}

var oneClaim = []string{"data"}

// tinyBounds are for runs under the race detector, smallBounds for every test run, and fullBounds for `make
// verify-model`.
func tinyBounds() []bound {
	return []bound{
		{"1 claim, calm", plantest.Scenario{Replicas: 1, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(1)}, 0, nil, nil},
		{"2 of 2, calm", plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1)}, 0, nil, nil},
		{"4, claims, lowest first, calm", plantest.Scenario{Replicas: 4, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(2), Ordered: true, Spec: plan.Spec{Order: api.LowestFirst}}, 0, nil, nil},
		{"1, writes", plantest.Scenario{Replicas: 1, Budget: pdbtest.MaxUnavailable(1)}, 1, ofWrites, nil},
		{"2, ordinals are dropped, calm", plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1), Prepared: true, Forgets: true}, 0, nil, nil},
	}
}

func smallBounds() []bound {
	return append(slices.Concat(tinyBounds(), blockBounds()),
		bound{"1 claim, 1 fault of any kind", plantest.Scenario{Replicas: 1, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(1)}, 1, nil, nil},
		bound{"1 claim, its name is taken, 1 fault of any kind", plantest.Scenario{Replicas: 1, Templates: oneClaim, Taken: true}, 1, nil, nil},
		bound{"1 claim, its name is taken, and then another", plantest.Scenario{Replicas: 1, Templates: oneClaim, Taken: true}, 0, ofLives, following},
		bound{"2, slices, roll-outs", plantest.Scenario{Replicas: 2, Slices: true}, 1, ofRolls, nil},
		bound{"2, slices, asked, 3", plantest.Scenario{Replicas: 2, Slices: true}, 3, ofAsked, nil},
		bound{"2, no budget, pods", plantest.Scenario{Replicas: 2}, 1, ofPodsToo, nil},
		bound{"3, d 2, pods", plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{Order: api.LowestFirst}}, 1, ofPodsToo, nil},
		bound{"2, 1 fault of any kind", plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1)}, 1, nil, nil},
		bound{"1, harms, 2", plantest.Scenario{Replicas: 1}, 2, ofHarms, nil},
		bound{"1 claim, source deleted, harm", plantest.Scenario{Replicas: 1, Templates: oneClaim, Spec: plan.Spec{DeleteSource: true}}, 1, ofHarms, nil},
		bound{"2, sick", plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1)}, 2, kindsOfFault{sickens, nodeLost}, nil},
		bound{"1 claim, pins", plantest.Scenario{Replicas: 1, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(1)}, 1, ofPins, nil},
		bound{"2, slices, harm", plantest.Scenario{Replicas: 2, Slices: true}, 1, ofHarms, nil},
		bound{"1 claim, and then another", plantest.Scenario{Replicas: 1, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(1)}, 0, ofLives, following},
		bound{"4, part, and then another", plantest.Scenario{Replicas: 4, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{Count: 1}}, 0, ofLives, following},
	)
}

func fullBounds() []bound {
	d := pdbtest.MaxUnavailable
	lowest, one, names := plan.Spec{Order: api.LowestFirst}, plan.Spec{SameCluster: true}, plan.Spec{SameNamespace: true}
	return append(slices.Concat(smallBounds(), fullBlockBounds()), []bound{
		{"2 claims, harm", plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: d(1)}, 1, ofHarms, nil},
		{"1 claim, harms, 2", plantest.Scenario{Replicas: 1, Templates: oneClaim, Budget: d(1)}, 2, ofHarms, nil},
		{"2, sick, 2", plantest.Scenario{Replicas: 2, Budget: d(1)}, 2, ofSick, nil},
		{"2, in order, sick, 2", plantest.Scenario{Replicas: 2, Ordered: true, Budget: d(1)}, 2, ofSick, nil},
		{"2 claims, pins", plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: d(1)}, 1, ofPins, nil},
		{"2, claims, ordinals are dropped, any", plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: d(1), Prepared: true, Forgets: true}, 1, nil, nil},
		{"2, claims, any", plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: d(1)}, 1, nil, nil},
		{"2, claims, lowest first, in order, any", plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: d(1), Ordered: true, Spec: lowest}, 1, nil, nil},
		{"2, claims, in one cluster, any", plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: d(1), Spec: one}, 1, nil, nil},
		{"2, claims, in one namespace, any", plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: d(1), Spec: names}, 1, nil, nil},
		{"3, in order, d 2, any", plantest.Scenario{Replicas: 3, Budget: d(2), Ordered: true}, 1, nil, nil},
		{"4, lowest first, d 2, any", plantest.Scenario{Replicas: 4, Budget: d(2), Spec: lowest}, 1, nil, nil},
		{"4, in order, d 1, any", plantest.Scenario{Replicas: 4, Budget: d(1), Ordered: true}, 1, nil, nil},
		{"4, part, any", plantest.Scenario{Replicas: 4, Budget: d(2), Spec: plan.Spec{Count: 2}}, 1, nil, nil},
		{"3, claims, d 2, writes", plantest.Scenario{Replicas: 3, Templates: oneClaim, Budget: d(2)}, 1, ofWrites, nil},
		{"1, claim, source deleted, any", plantest.Scenario{Replicas: 1, Templates: oneClaim, Budget: d(1), Spec: plan.Spec{DeleteSource: true}}, 1, nil, nil},
		{"1, claim, Ready for a while, any", plantest.Scenario{Replicas: 1, Templates: oneClaim, Spec: plan.Spec{MinReady: 5}}, 1, nil, nil},
		{"2, named, any", plantest.Scenario{Replicas: 2, Budget: d(1), Spec: plan.Spec{NameOrdinals: true}}, 1, nil, nil},
		{"1, named for the move, writes, 2", plantest.Scenario{Replicas: 1, Spec: plan.Spec{NameOrdinals: true, DropNames: true}}, 2, ofWrites, nil},
		{"1, named, writes, 2", plantest.Scenario{Replicas: 1, Spec: plan.Spec{NameOrdinals: true}}, 2, ofWrites, nil},
		{"1, writes, 2", plantest.Scenario{Replicas: 1, Budget: d(1)}, 2, ofWrites, nil},
		{"1, claim, writes, 2", plantest.Scenario{Replicas: 1, Templates: oneClaim}, 2, ofWrites, nil},
		{"2, reads, 2", plantest.Scenario{Replicas: 2, Budget: d(1)}, 2, ofReads, nil},
		{"2, pods, 2", plantest.Scenario{Replicas: 2, Budget: d(1)}, 2, ofPodsToo, nil},
		{"3, d 2, pods, 2", plantest.Scenario{Replicas: 3, Budget: d(2)}, 2, ofPodsToo, nil},
		{"1, others, 2", plantest.Scenario{Replicas: 1, Budget: d(1)}, 2, ofOthers, nil},
		{"2, slices, roll-outs, 2", plantest.Scenario{Replicas: 2, Slices: true}, 2, ofRolls, nil},
		{"2, slices, budget, roll-outs, 2", plantest.Scenario{Replicas: 2, Slices: true, Budget: d(1)}, 2, ofBudgets, nil},
		{"3, slices, d 2, roll-outs, 2", plantest.Scenario{Replicas: 3, Slices: true, Spec: plan.Spec{MaxUnavailable: pdbtest.MaxUnavailable(2).MaxUnavailable}}, 2, ofRolls, nil},
		{"1, claim, reach, 2", plantest.Scenario{Replicas: 1, Templates: oneClaim}, 2, ofReach, nil},
		{"1, two claims, any", plantest.Scenario{Replicas: 1, Templates: []string{"data", "wal"}, Budget: d(1)}, 1, nil, nil},
		{"1 claim, unattached, any", plantest.Scenario{Replicas: 1, Templates: oneClaim, Unattached: true, Budget: d(1)}, 1, nil, nil},
		{"2, minAvailable, any", plantest.Scenario{Replicas: 2, Budget: pdbtest.MinAvailable(1)}, 1, nil, nil},
		{"2, percent, any", plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailablePercent(50)}, 1, nil, nil},
		{"3, minAvailable percent, any", plantest.Scenario{Replicas: 3, Budget: pdbtest.MinAvailablePercent(34)}, 1, nil, nil},
		{"2, native roll-outs, 2", plantest.Scenario{Replicas: 2, Budget: d(1)}, 2, ofNative, nil},
		{"1 claim, late creations, 2", plantest.Scenario{Replicas: 1, Templates: oneClaim, Budget: d(1)}, 2, ofLate, nil},
		{"1 claim, and then another, 1", plantest.Scenario{Replicas: 1, Templates: oneClaim, Budget: d(1)}, 1, ofLives, following},
		{"3, part, and then another, 1", plantest.Scenario{Replicas: 3, Budget: d(2), Spec: plan.Spec{Count: 1}}, 1, ofLives, following},
		{"2 claims, part, and then another, 1", plantest.Scenario{Replicas: 2, Templates: oneClaim, Spec: plan.Spec{Count: 1}}, 1, ofLives, following},
		{"3, claims, d 2, pods", plantest.Scenario{Replicas: 3, Templates: oneClaim, Budget: d(2), Ordered: true}, 1, ofPodsToo, nil},
	}...)
}

// cells returns the description of a bound in a table.
func (b bound) cells() []string {
	pick := func(yes bool, this, that string) string {
		if yes {
			return this
		}
		return that
	}
	apart := pick(b.Spec.SameNamespace, "names", pick(b.Spec.SameCluster, "namespaces", "clusters"))
	d := "1, no PodDisruptionBudget"
	if b.Budget != nil {
		d = strings.TrimPrefix(b.Budget.String(), "maxUnavailable ")
	}
	if asked := b.Spec.MaxUnavailable; asked != nil {
		d = asked.String() + ", no PodDisruptionBudget"
	}
	var also []string
	if b.Unattached {
		also = append(also, "volumes without attachments")
	}
	if len(b.lives) > 0 {
		also = append(also, fmt.Sprintf("%d migrations may follow", len(b.lives)))
	}
	if b.Taken {
		also = append(also, "other disks have the names there")
	}
	if b.Slices {
		also = append(also, "StatefulSets of our own kind")
	}
	if b.Forgets {
		also = append(also, "the destination's API server drops spec.ordinals")
	}
	if most := b.Spec.MaxInFlight; most != nil {
		also = append(also, most.String()+" in flight at once")
	}
	if b.Spec.Count > 0 {
		also = append(also, fmt.Sprintf("only %d move", b.Spec.Count))
	}
	if b.Spec.DeleteSource {
		also = append(also, "the source is deleted")
	}
	if b.Spec.NameOrdinals {
		also = append(also, pick(b.Spec.DropNames, "a name for each ordinal until the end", "a name for each ordinal"))
	}
	if b.Copies > 0 {
		also = append(also, "what is copied is replaced")
	}
	if b.Spec.MinReady > 0 {
		also = append(also, "minReadySeconds")
	}
	return []string{
		strconv.Itoa(int(b.Replicas)), pick(b.Spec.Order == api.LowestFirst, "lowest first", "highest first"), d,
		[]string{"none", "one each", "two each"}[len(b.Templates)], pick(b.Ordered, "in order", "in parallel"), apart,
		pick(len(also) > 0, strings.Join(also, ", "), "-"), strconv.Itoa(b.faults), pick(b.faults > 0, b.kinds.String(), "-"),
	}
}

// String returns the names of the kinds.
func (k kindsOfFault) String() string {
	names := make([]string, 0, len(k))
	for _, d := range k {
		names = append(names, faultNames[d])
	}
	if len(names) == 0 {
		return "all"
	}
	return strings.Join(names, ", ")
}

var faultNames = map[deed]string{
	faulty: "writes lost, unanswered or late", slow: "slow writes", slowRead: "slow reads", standsOn: "caches that stand still",
	cutSide: "unreachable sides", strays: "addresses that lead elsewhere", harm: "deletions and uses by others", sickens: "pods that do not become Ready", pins: "attachments that stay", lateMade: "late creations of pods", takeover: "a second leader", turns: "mode", deletion: "deletion", breaksHook: "hooks that fail or are lost", breaksCopy: "movers that fail, disks that fail, claims of copies and VolumeSnapshots that are deleted", mounts: "mounts by others", overruns: "copies that take longer than they may", spares: "a prefetch that is taken back", closes: "sides that let no pod in any more, origins of copies that are replaced",
	evicting: "evictions", fails: "pods that fail", deleted: "pods that are deleted", nodeLost: "lost nodes", foreign: "foreign edits", rolls: "roll-outs", asks: "pods that are asked to go",
	authors: "authors of budgets", bars: "writes that an API server refuses",
}

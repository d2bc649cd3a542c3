package migration

import (
	"fmt"
	"strconv"
	"strings"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// bound is a world whose states are explored, and what may happen there.
type bound struct {
	name string
	scenario
	// faults is how many a run may have; kinds are which, none: all.
	faults int
	kinds  kindsOfFault
}

// Kinds of faults that are explored in twos, where all of them would be too many.
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
)

// Migrations that may follow on one: the rest, back again, and back again after the owner has
// set the volumes to Retain.
var following = []life{{}, {back: true}, {back: true, retains: true}, {count: 1}, {back: true, count: 1}, {deletes: true}}

var oneClaim = []string{"data"}

// tinyBounds are for a run under the race detector, smallBounds for every run of the
// tests, fullBounds for `make verify-model`.
func tinyBounds() []bound {
	return []bound{
		{"1 claim, calm", scenario{replicas: 1, templates: oneClaim, budget: maxUnavailable(1)}, 0, nil},
		{"2 of 2, calm", scenario{replicas: 2, budget: maxUnavailable(1)}, 0, nil},
		{"4, claims, lowest first, calm", scenario{replicas: 4, templates: oneClaim, budget: maxUnavailable(2), ordered: true, spec: Spec{Order: api.LowestFirst}}, 0, nil},
		{"1, writes", scenario{replicas: 1, budget: maxUnavailable(1)}, 1, ofWrites},
		{"2, ordinals are dropped, calm", scenario{replicas: 2, budget: maxUnavailable(1), prepared: true, forgets: true}, 0, nil},
	}
}

func smallBounds() []bound {
	return append(tinyBounds(),
		bound{"1 claim, 1 fault of any kind", scenario{replicas: 1, templates: oneClaim, budget: maxUnavailable(1)}, 1, nil},
		bound{"2, slices, roll-outs", scenario{replicas: 2, slices: true}, 1, ofRolls},
		bound{"2, slices, asked, 3", scenario{replicas: 2, slices: true}, 3, ofAsked},
		bound{"2, no budget, pods", scenario{replicas: 2}, 1, ofPodsToo},
		bound{"3, d 2, pods", scenario{replicas: 3, budget: maxUnavailable(2), spec: Spec{Order: api.LowestFirst}}, 1, ofPodsToo},
		bound{"2, 1 fault of any kind", scenario{replicas: 2, budget: maxUnavailable(1)}, 1, nil},
		bound{"1, harms, 2", scenario{replicas: 1}, 2, ofHarms},
		bound{"1 claim, source deleted, harm", scenario{replicas: 1, templates: oneClaim, spec: Spec{DeleteSource: true}}, 1, ofHarms},
		bound{"2, sick", scenario{replicas: 2, budget: maxUnavailable(1)}, 2, kindsOfFault{sickens, nodeLost}},
		bound{"1 claim, pins", scenario{replicas: 1, templates: oneClaim, budget: maxUnavailable(1)}, 1, ofPins},
		bound{"2, slices, harm", scenario{replicas: 2, slices: true}, 1, ofHarms},
		bound{"1 claim, and then another", scenario{replicas: 1, templates: oneClaim, budget: maxUnavailable(1), lives: following}, 0, ofLives},
		bound{"4, part, and then another", scenario{replicas: 4, budget: maxUnavailable(2), spec: Spec{Count: 1}, lives: following}, 0, ofLives},
	)
}

func fullBounds() []bound {
	d := maxUnavailable
	lowest, one, names := Spec{Order: api.LowestFirst}, Spec{SameCluster: true}, Spec{SameNamespace: true}
	return append(smallBounds(), []bound{
		{"2 claims, harm", scenario{replicas: 2, templates: oneClaim, budget: d(1)}, 1, ofHarms},
		{"1 claim, harms, 2", scenario{replicas: 1, templates: oneClaim, budget: d(1)}, 2, ofHarms},
		{"2, sick, 2", scenario{replicas: 2, budget: d(1)}, 2, ofSick},
		{"2, in order, sick, 2", scenario{replicas: 2, ordered: true, budget: d(1)}, 2, ofSick},
		{"2 claims, pins", scenario{replicas: 2, templates: oneClaim, budget: d(1)}, 1, ofPins},
		{"2, claims, ordinals are dropped, any", scenario{replicas: 2, templates: oneClaim, budget: d(1), prepared: true, forgets: true}, 1, nil},
		{"2, claims, any", scenario{replicas: 2, templates: oneClaim, budget: d(1)}, 1, nil},
		{"2, claims, lowest first, in order, any", scenario{replicas: 2, templates: oneClaim, budget: d(1), ordered: true, spec: lowest}, 1, nil},
		{"2, claims, in one cluster, any", scenario{replicas: 2, templates: oneClaim, budget: d(1), spec: one}, 1, nil},
		{"2, claims, in one namespace, any", scenario{replicas: 2, templates: oneClaim, budget: d(1), spec: names}, 1, nil},
		{"3, in order, d 2, any", scenario{replicas: 3, budget: d(2), ordered: true}, 1, nil},
		{"4, lowest first, d 2, any", scenario{replicas: 4, budget: d(2), spec: lowest}, 1, nil},
		{"4, in order, d 1, any", scenario{replicas: 4, budget: d(1), ordered: true}, 1, nil},
		{"4, part, any", scenario{replicas: 4, budget: d(2), spec: Spec{Count: 2}}, 1, nil},
		{"3, claims, d 2, writes", scenario{replicas: 3, templates: oneClaim, budget: d(2)}, 1, ofWrites},
		{"1, claim, source deleted, any", scenario{replicas: 1, templates: oneClaim, budget: d(1), spec: Spec{DeleteSource: true}}, 1, nil},
		{"1, claim, Ready for a while, any", scenario{replicas: 1, templates: oneClaim, spec: Spec{MinReady: 5}}, 1, nil},
		{"2, named, any", scenario{replicas: 2, budget: d(1), spec: Spec{NameOrdinals: true}}, 1, nil},
		{"1, named for the move, writes, 2", scenario{replicas: 1, spec: Spec{NameOrdinals: true, DropNames: true}}, 2, ofWrites},
		{"1, named, writes, 2", scenario{replicas: 1, spec: Spec{NameOrdinals: true}}, 2, ofWrites},
		{"1, writes, 2", scenario{replicas: 1, budget: d(1)}, 2, ofWrites},
		{"1, claim, writes, 2", scenario{replicas: 1, templates: oneClaim}, 2, ofWrites},
		{"2, reads, 2", scenario{replicas: 2, budget: d(1)}, 2, ofReads},
		{"2, pods, 2", scenario{replicas: 2, budget: d(1)}, 2, ofPodsToo},
		{"3, d 2, pods, 2", scenario{replicas: 3, budget: d(2)}, 2, ofPodsToo},
		{"1, others, 2", scenario{replicas: 1, budget: d(1)}, 2, ofOthers},
		{"2, slices, roll-outs, 2", scenario{replicas: 2, slices: true}, 2, ofRolls},
		{"2, slices, budget, roll-outs, 2", scenario{replicas: 2, slices: true, budget: d(1)}, 2, ofBudgets},
		{"3, slices, d 2, roll-outs, 2", scenario{replicas: 3, slices: true, spec: Spec{MaxUnavailable: maxUnavailable(2).MaxUnavailable}}, 2, ofRolls},
		{"1, claim, reach, 2", scenario{replicas: 1, templates: oneClaim}, 2, ofReach},
		{"1, two claims, any", scenario{replicas: 1, templates: []string{"data", "wal"}, budget: d(1)}, 1, nil},
		{"1 claim, unattached, any", scenario{replicas: 1, templates: oneClaim, unattached: true, budget: d(1)}, 1, nil},
		{"2, minAvailable, any", scenario{replicas: 2, budget: minAvailable(1)}, 1, nil},
		{"2, percent, any", scenario{replicas: 2, budget: maxUnavailablePercent(50)}, 1, nil},
		{"3, minAvailable percent, any", scenario{replicas: 3, budget: minAvailablePercent(34)}, 1, nil},
		{"2, native roll-outs, 2", scenario{replicas: 2, budget: d(1)}, 2, ofNative},
		{"1 claim, late creations, 2", scenario{replicas: 1, templates: oneClaim, budget: d(1)}, 2, ofLate},
		{"1 claim, and then another, 1", scenario{replicas: 1, templates: oneClaim, budget: d(1), lives: following}, 1, ofLives},
		{"3, part, and then another, 1", scenario{replicas: 3, budget: d(2), spec: Spec{Count: 1}, lives: following}, 1, ofLives},
		{"2 claims, part, and then another, 1", scenario{replicas: 2, templates: oneClaim, spec: Spec{Count: 1}, lives: following}, 1, ofLives},
		{"4, claims, d 2, pods", scenario{replicas: 4, templates: oneClaim, budget: d(2), ordered: true}, 1, ofPodsToo},
	}...)
}

// cells describe a bound in a table.
func (b bound) cells() []string {
	pick := func(yes bool, this, that string) string {
		if yes {
			return this
		}
		return that
	}
	apart := pick(b.spec.SameNamespace, "names", pick(b.spec.SameCluster, "namespaces", "clusters"))
	d := "1, no PodDisruptionBudget"
	if b.budget != nil {
		d = strings.TrimPrefix(b.budget.String(), "maxUnavailable ")
	}
	if asked := b.spec.MaxUnavailable; asked != nil {
		d = asked.String() + ", no PodDisruptionBudget"
	}
	var also []string
	if b.unattached {
		also = append(also, "volumes without attachments")
	}
	if len(b.lives) > 0 {
		also = append(also, fmt.Sprintf("%d migrations may follow", len(b.lives)))
	}
	if b.slices {
		also = append(also, "StatefulSets of our own kind")
	}
	if b.forgets {
		also = append(also, "the destination's API server drops spec.ordinals")
	}
	if b.spec.Count > 0 {
		also = append(also, fmt.Sprintf("only %d move", b.spec.Count))
	}
	if b.spec.DeleteSource {
		also = append(also, "the source is deleted")
	}
	if b.spec.NameOrdinals {
		also = append(also, pick(b.spec.DropNames, "a name for each ordinal until the end", "a name for each ordinal"))
	}
	if b.spec.MinReady > 0 {
		also = append(also, "minReadySeconds")
	}
	return []string{
		strconv.Itoa(int(b.replicas)), pick(b.spec.Order == api.LowestFirst, "lowest first", "highest first"), d,
		[]string{"none", "one each", "two each"}[len(b.templates)], pick(b.ordered, "in order", "in parallel"), apart,
		pick(len(also) > 0, strings.Join(also, ", "), "-"), strconv.Itoa(b.faults), pick(b.faults > 0, b.kinds.String(), "-"),
	}
}

// String names the kinds.
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
	cutSide: "unreachable sides", strays: "addresses that lead elsewhere", harm: "deletions and uses by others", sickens: "pods that do not become Ready", pins: "attachments that stay", lateMade: "late creations of pods", takeover: "a second leader", turns: "mode", deletion: "deletion",
	evicting: "evictions", fails: "pods that fail", deleted: "pods that are deleted", nodeLost: "lost nodes", foreign: "foreign edits", rolls: "roll-outs", asks: "pods that are asked to go",
}

package duel

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// Script is what is played on both sides.
type Script struct {
	// Name is a DNS label: that of a script that was drawn is its seed.
	Name     string
	Settings Settings
	Steps    []Step
}

// Settings are what no step changes.
type Settings struct {
	Parallel bool
	// Claims is the number of claim templates.
	Claims int
	// Replicas and Start are the first ones.
	Replicas, Start int32
	// Rushed is true when steps do not wait until the former one has come to its end.
	Rushed bool
}

// Step is one edit or fault. What A and B mean depends on the kind.
type Step struct {
	Kind string
	A, B int32
	// Pause is the time after it in a rushed script.
	Pause time.Duration
}

func (s Step) String() string { return fmt.Sprintf("%s %d %d", s.Kind, s.A, s.B) }

// String shows the whole script.
func (s Script) String() string {
	lines := []string{fmt.Sprintf("script %s: %+v", s.Name, s.Settings)}
	for i, step := range s.Steps {
		lines = append(lines, fmt.Sprintf("%2d %s", i+1, step))
	}
	return strings.Join(lines, "\n")
}

// Draw draws the script of a seed.
func Draw(seed int) Script {
	s := scripts.Example(seed)
	s.Name = strconv.Itoa(seed)
	return s
}

// kinds are drawn as often as they are here: edits of the template come most often.
var kinds = []string{
	stepImage, stepImage, stepImage, stepImage, stepBroken, stepBroken, stepSlow, stepBack, stepThereAndBack, stepAnnotate,
	stepReplicas, stepReplicas, stepReplicas, stepStart, stepStart, stepRange, stepPartition, stepPartition, stepMaxUnavailable, stepMaxUnavailable,
	stepStrategy, stepMinReady, stepRetention, stepRetention, stepHistory,
	stepDelete, stepDelete, stepDeleteHeld, stepLetGo, stepFail, stepFail, stepSucceed, stepUnready, stepReady, stepReady,
	stepRelease, stepOrphan, stepUnname, stepStray,
	stepClaimDelete, stepClaimAndPod, stepClaimGone, stepUnbound, stepBound,
	stepRefusePods, stepRefuseClaims, stepRefuseDeletions, stepAllow, stepAllow,
}

var scripts = rapid.Custom(func(r *rapid.T) Script {
	return Script{
		Settings: Settings{
			Parallel: rapid.Bool().Draw(r, "parallel"),
			Claims:   rapid.SampledFrom([]int{0, 0, 1, 1, 2}).Draw(r, "claims"),
			Replicas: rapid.Int32Range(0, 6).Draw(r, "replicas"),
			Start:    rapid.SampledFrom([]int32{0, 0, 0, 1, 5}).Draw(r, "start"),
			Rushed:   rapid.IntRange(0, 3).Draw(r, "rushed") == 3,
		},
		Steps: rapid.SliceOfN(steps, minSteps, maxSteps).Draw(r, "steps"),
	}
})

const minSteps, maxSteps = 5, 14

var steps = rapid.Custom(func(r *rapid.T) Step {
	return Step{
		Kind: rapid.SampledFrom(kinds).Draw(r, "kind"),
		A:    rapid.Int32Range(0, 6).Draw(r, "a"), B: rapid.Int32Range(0, 5).Draw(r, "b"),
		Pause: time.Duration(rapid.IntRange(0, 900).Draw(r, "pause")) * time.Millisecond,
	}
})

// Kinds of steps: edits of the set.
const (
	stepImage          = "image"
	stepBroken         = "image that never gets Ready"
	stepSlow           = "image that gets Ready late"
	stepBack           = "template of before"
	stepThereAndBack   = "another image and back"
	stepAnnotate       = "annotation of the template"
	stepReplicas       = "replicas"
	stepStart          = "ordinals.start"
	stepRange          = "replicas and ordinals.start"
	stepPartition      = "partition"
	stepMaxUnavailable = "maxUnavailable"
	stepStrategy       = "strategy"
	stepMinReady       = "minReadySeconds"
	stepRetention      = "retention policy"
	stepHistory        = "revisionHistoryLimit"
)

// Kinds of steps: faults of pods.
const (
	stepDelete     = "a pod is deleted"
	stepDeleteHeld = "a pod is deleted, and a finalizer holds it"
	stepLetGo      = "finalizers let pods go"
	stepFail       = "a pod fails"
	stepSucceed    = "a pod succeeds"
	stepUnready    = "a pod gets unready"
	stepReady      = "pods get Ready again"
	stepRelease    = "a pod loses the label of the selector, or gets it again"
	stepOrphan     = "a pod loses its owner"
	stepUnname     = "a pod loses the label of its name"
	stepStray      = "somebody else makes a pod with the set's labels"
)

// Kinds of steps: faults of claims, and of the API server.
const (
	stepClaimDelete     = "a claim is deleted"
	stepClaimAndPod     = "a claim and its pod are deleted"
	stepClaimGone       = "a claim is removed by force"
	stepUnbound         = "claims stay unbound"
	stepBound           = "claims are bound"
	stepRefusePods      = "pods are refused"
	stepRefuseClaims    = "claims are refused"
	stepRefuseDeletions = "deletions of pods are refused"
	stepAllow           = "nothing is refused"
)

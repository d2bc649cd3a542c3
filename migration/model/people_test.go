package model

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// A random run also has users who run the commands that a stall names. It has the causes of such stalls, namely
// a tool that restores its own version of a PodDisruptionBudget, and a claim that is in the way.

// theirs is the volume of a claim that is in the way.
const theirs = "pv-theirs"

// order is a command of a user, for a cluster.
type order struct {
	cluster string
	words   []string
}

var inCluster = regexp.MustCompile(`in cluster (\S+): $`)

// ordersOf returns the commands in a text.
func ordersOf(text string) []order {
	var orders []order
	for at := strings.Index(text, "kubectl "); at >= 0; at = strings.Index(text, "kubectl ") {
		words, rest := wordsOf(text[at:])
		o := order{words: words[1:]}
		if found := inCluster.FindStringSubmatch(text[:at]); found != nil {
			o.cluster = found[1]
		}
		orders, text = append(orders, o), rest
	}
	return orders
}

// wordsOf returns the words of the command at the beginning of a text, and the rest of the text. A command ends
// where the sentence continues.
func wordsOf(text string) (words []string, rest string) {
	word, quoted := "", false
	for i, c := range text {
		ends := i+1 == len(text) || text[i+1] == ' '
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted, !strings.ContainsRune(" ;),:&", c), c == ':' && !ends, c == ',' && !ends:
			word += string(c)
		default:
			if word != "" {
				words = append(words, word)
			}
			if word = ""; c != ' ' {
				return words, text[i:]
			}
		}
	}
	return append(words, word), ""
}

// after returns the word that follows another one; empty if there is none.
func (o order) after(word string) string {
	if at := slices.Index(o.words, word); at >= 0 && at+1 < len(o.words) {
		return o.words[at+1]
	}
	return ""
}

// follow makes a user follow the remedy of the migration.
func (r *run) follow(t *rapid.T) {
	r.t = t
	p := r.anyone()
	r.renew(p)
	r.passes(p, rapid.IntRange(1, 4).Draw(t, "passes"), r.laggards())
	r.obey()
	r.passes(p, rapid.IntRange(1, 8).Draw(t, "passes since"), r.laggards())
}

// obey runs one or all of the commands of the last remedy.
func (r *run) obey() {
	if r.said == nil {
		return
	}
	orders := ordersOf(r.said.Remedy)
	if len(orders) == 0 {
		return
	}
	if only := r.index(len(orders)+1, "command"); only < len(orders) {
		orders = orders[only : only+1]
	}
	for _, o := range orders {
		r.note("a person runs kubectl %s", strings.Join(o.words, " "))
		r.runs(o)
		r.interleaved++
		r.remember()
		r.verify()
	}
}

// runs executes a command. An unknown command fails the test: every remedy must be tested before it is shipped.
func (r *run) runs(o order) {
	if changes := slices.Contains([]string{"delete", "patch", "annotate"}, o.words[0]); changes && o.cluster == "" {
		r.breaks("I9: the remedy does not name the cluster of kubectl %s", strings.Join(o.words, " "))
		return
	}
	switch o.words[0] {
	case "describe":
		if o.words[1] == "quota" {
			r.allow() // the user fixes the cause that this command shows
		}
	case "get", "logs", "events", "edit", "rollout", "api-resources":
	case "migrate":
		r.runsPlugin(o)
	case "delete":
		r.deletes(o)
	case "patch":
		r.patches(o)
	case "annotate":
		r.annotates(o)
	default:
		r.t.Fatalf("nobody knows what this does: kubectl %s", strings.Join(o.words, " "))
	}
}

func (r *run) runsPlugin(o order) {
	switch o.words[1] {
	case "pause":
		r.setMode(api.ModePause)
		r.passes(r.processes[0], 3, everyone)
	case "resume":
		r.setMode(api.ModeRun)
	case "rollback":
		r.setMode(api.ModeRollback)
	case "run":
		if o.after("--resume-uid") == former {
			r.State.Source.Marks, r.State.Destination.Marks = nil, nil
		}
	case "status", "gates", "install", "recover", "kept":
	default:
		r.t.Fatalf("nobody knows what this does: kubectl %s", strings.Join(o.words, " "))
	}
}

// sidesOf returns the sides to which a command may apply.
func (r *run) sidesOf(o order) []plan.SideName {
	return slices.DeleteFunc(slices.Clone(plan.SideNames), func(name plan.SideName) bool {
		side, namespace := r.State.Side(name), o.after("-n")
		return o.cluster != "" && o.cluster != side.Cluster || namespace != "" && namespace != side.Namespace
	})
}

func (r *run) deletes(o order) {
	for _, name := range r.sidesOf(o) {
		side := r.State.Side(name)
		switch o.words[1] {
		case "pod":
			for _, pod := range slices.Clone(side.Pods) {
				if slices.Contains(o.words, side.Set.Name+"-"+strconv.Itoa(int(pod.Ordinal))) {
					r.remove(name, pod.Ordinal)
				}
			}
		case "pvc":
			r.deletesClaim(name, o)
		case "pdb":
			side.Budgets = slices.DeleteFunc(slices.Clone(side.Budgets), func(b plan.Budget) bool { return slices.Contains(o.words, b.Name) })
		default:
			r.t.Fatalf("nobody knows what this does: kubectl %s", strings.Join(o.words, " "))
		}
	}
}

func (r *run) deletesClaim(name plan.SideName, o order) {
	for i := range r.State.Volumes {
		h := r.State.Volumes[i].Holding(name)
		if h.Claim.Found && slices.Contains(o.words, h.Ref.Name) {
			h.Claim.Terminating, h.Claim.ResourceVersion = true, r.NewVersion()
		}
	}
}

func (r *run) patches(o order) {
	if o.words[1] != "pv" || !strings.Contains(o.words[len(o.words)-1], "Retain") {
		r.t.Fatalf("nobody knows what this does: kubectl %s", strings.Join(o.words, " "))
	}
	for _, name := range r.sidesOf(o) {
		for i := range r.State.Volumes {
			v := &r.State.Volumes[i]
			if volume := v.Holding(name).Volume; volume.Found && slices.Contains(o.words, volume.Name) {
				volume.Policy = corev1.PersistentVolumeReclaimRetain
				r.PutVolume(v, name, volume)
			}
		}
	}
}

func (r *run) annotates(o order) {
	switch {
	case slices.Contains(o.words, api.BudgetAnnotationKey+"="+api.BudgetHandedOver):
		r.handOver()
	case slices.Contains(o.words, api.LeftOutAnnotationKey+"=true"):
		r.State.Source.Marks, r.State.Destination.Marks = nil, nil
	default:
		r.t.Fatalf("nobody knows what this does: kubectl %s", strings.Join(o.words, " "))
	}
}

// putBackBudget makes a tool restore its own version of a budget, and possibly a user hand it over.
func (r *run) putBackBudget(t *rapid.T) {
	r.t = t
	p := r.onward()
	r.approachTo(p, rapid.SampledFrom([]string{string(plan.ScaleDown), string(plan.ScaleUp), string(plan.SetBudget)}).Draw(t, "before"))
	name := rapid.SampledFrom(plan.SideNames).Draw(t, "side")
	budgets, record := r.State.Side(name).Budgets, r.State.Record
	if r.author == nil || record.Baseline == nil || record.Completed != "" || len(budgets) != 1 || budgets[0].Fence == "" || r.State.Deleting {
		return
	}
	r.putBack(name, "flux")
	r.grace, r.tool = true, true
	r.note("a tool writes its version of the budget of the %s back", name)
	r.interleaved++
	r.remember()
	r.passes(p, rapid.IntRange(1, 4).Draw(t, "passes"), r.laggards())
	r.obey()
	r.passes(p, rapid.IntRange(1, 8).Draw(t, "passes since"), everyone)
}

// handOver stops the tool, and hands over its budgets.
func (r *run) handOver() {
	for _, name := range plan.SideNames {
		if budgets := r.State.Side(name).Budgets; r.tool && len(budgets) == 1 && budgets[0].Fence == "" {
			now := budgets[0]
			now.HandedOver = true
			r.PutBudget(name, &now)
		}
	}
}

// leaveClaim creates a claim of another user in the place of the next ordinal's claim, which a user possibly
// deletes.
func (r *run) leaveClaim(t *rapid.T) {
	r.t = t
	p := r.onward()
	at := r.index(len(r.State.Volumes), "claim")
	v := &r.State.Volumes[at]
	if h := &v.Destination; h.Claim.Found || h.Volume.Found || !r.State.Source.Set.Has(v.Ordinal) || r.State.Spec.SameCluster || r.State.Record.Completed != "" || r.State.Deleting {
		return
	}
	v.Destination.Claim = volumes.Claim{Found: true, UID: r.NewUID(), ResourceVersion: r.NewVersion(), Phase: corev1.ClaimLost, Volume: theirs}
	r.note("claim %s of another user is at the destination", v.Destination.Ref.Name)
	r.interleaved++
	r.remember()
	r.passes(p, rapid.IntRange(1, 20).Draw(t, "passes"), everyone)
	r.obey()
	r.passes(p, rapid.IntRange(1, 8).Draw(t, "passes since"), everyone)
}

// takeClaims removes the claims of others.
func (r *run) takeClaims() {
	for i := range r.State.Volumes {
		if h := &r.State.Volumes[i].Destination; h.Claim.Volume == theirs {
			h.Claim = volumes.Claim{}
		}
	}
}

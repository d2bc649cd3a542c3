package inplace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// tester is the part of a test that a world uses.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// object holds the metadata that writes are checked against.
type object struct {
	uid types.UID
	rv  int
}

type worldSet struct {
	object
	manifest    Manifest
	terminating bool
	poked       Poke
	owner       string
	operator    Operator
	locked      string
	deletes     bool
	keeps       []string
}

type worldClaim struct {
	object
	template                     Template
	volume                       string
	held, protected, terminating bool
	// ours is true if the migration created it, and owned if it would be deleted with an owner.
	ours, owned bool
	users       []string
	// stays is why it would stay after its deletion.
	stays *volumes.Reason
	// capacity and attributes are those of its status. pending is when its file system began to wait for its node.
	capacity   int64
	attributes string
	pending    time.Time
}

type worldVolume struct {
	object
	name                       string
	ref                        volumes.Ref
	available, retain, secured bool
	template                   Template
	// data is the last write that it contains; 0 for an empty volume.
	data int
	// departing is true if its object was deleted. It exists while it is bound.
	departing bool
}

type worldPod struct {
	object
	node               string
	ready, terminating bool
	// on are the volumes that it has mounted, by template.
	on      map[string]string
	created time.Time
}

// world is a namespace with a StatefulSet, its controller, the volume controller, a garbage collector, a scheduler, kubelets
// and a filler. All controllers read caches, which are refreshed on their own.
type world struct {
	t              tester
	now            time.Time
	version        int
	wanted, former Manifest
	set            *worldSet
	claims         map[string]*worldClaim
	volumes        map[string]*worldVolume
	pods           map[int32]*worldPod
	fills          map[string]*fill
	// latest is the last write of the application, by claim.
	latest map[string]int
	record Record
	mode   api.Mode
	budget int
	// healthy is the number of pods that the PodDisruptionBudget demands; 0 without one. always is true if its
	// unhealthyPodEvictionPolicy is AlwaysAllow, and second if another one selects the pods, too.
	healthy        int
	always, second bool
	cold           bool
	// attached is true if an object shows where a volume is mounted: no sender stands by then.
	attached bool
	used     int64
	// offline is true if nodes grow a file system only as a pod starts, and refuses is the largest size that the driver gives.
	offline bool
	refuses int64
	// keeps is true if the method of the templates keeps their volumes.
	keeps    bool
	deadline time.Duration
	// evicted counts the evictions.
	evicted int
	// updates is true if the claim templates of the set change by an update.
	updates bool
	// admits changes a set at its creation, as a webhook does; nil: there is none.
	admits *Manifest
	// rolling is true while a rollout is in progress.
	rolling bool
	// foreign is true if another writer does what no migration can prevent: an empty volume is provisioned.
	foreign bool
	// lost is a node that does not answer, and sick a class on whose volumes the application does not become Ready.
	lost, sick string
	// failed is true if another replica fails on its own, which no budget prevents.
	failed bool
	// starts is when the ordinal in flight began to start.
	starts time.Time
	story  []string
	// slow is a cache that is refreshed only in every period-th round, by its index in others.
	slow, period, round int
	// provisioned are the claims for which an empty volume was provisioned.
	provisioned []string

	sets  setCache
	binds bindCache
}

// setCache is the cache of the StatefulSet controller.
type setCache struct {
	set    *worldSet
	claims map[string]worldClaim
	pods   map[int32]worldPod
	// backoff is true after a pass with an error. The next pass is made when the set or a pod changes: claims are not
	// watched, and the backoff grows to 1,000 s.
	backoff bool
}

// bindCache is the cache of the volume controller.
type bindCache struct {
	claims  map[string]worldClaim
	volumes map[string]worldVolume
}

const (
	setName  = "web"
	replicas = 3
)

func manifest(name string, templates ...Template) Manifest {
	return Manifest{Text: name, Templates: templates}
}

// Templates of the tests.
var (
	slowData  = Template{Name: "data", Class: "slow", Size: 100}
	smallData = Template{Name: "data", Class: "fast", Size: 50}
	largeData = Template{Name: "data", Class: "fast", Size: 200}
	logs      = Template{Name: "logs", Class: "slow", Size: 40}
	fastLogs  = Template{Name: "logs", Class: "fast", Size: 40}
	largeLogs = Template{Name: "logs", Class: "slow", Size: 80}
)

// The wanted sets of the tests.
var (
	smaller   = manifest("smaller", smallData, logs)
	larger    = manifest("larger", largeData, logs)
	faster    = manifest("faster", Template{Name: "data", Class: "fast", Size: 100}, logs)
	both      = manifest("both", smallData, fastLogs)
	replacing = []Manifest{smaller, larger, faster, both}
)

// The wanted sets of the tests that the driver gives, some with a copy of another volume.
var (
	grown    = manifest("grown", Template{Name: "data", Class: "slow", Size: 200}, logs)
	modified = manifest("modified", Template{Name: "data", Class: "slow", Size: 100, Attributes: "gold"}, logs)
	given    = manifest("given", Template{Name: "data", Class: "slow", Size: 200, Attributes: "gold"}, largeLogs)
	mixed    = manifest("mixed", smallData, largeLogs)
	targets  = append([]Manifest{grown, modified, given, mixed}, replacing...)
)

func newWorld(t tester, to Manifest) *world {
	w := &world{
		t: t, now: noon, former: manifest("former", slowData, logs), wanted: to, mode: api.ModeRun, budget: 1, healthy: replicas - 1, used: 20,
		claims: map[string]*worldClaim{}, volumes: map[string]*worldVolume{}, pods: map[int32]*worldPod{}, fills: map[string]*fill{}, latest: map[string]int{},
	}
	w.set = &worldSet{object: w.fresh("set"), manifest: w.former}
	for ordinal := range int32(replicas) {
		pod := &worldPod{object: w.fresh("pod"), node: fmt.Sprintf("node-%d", ordinal), ready: true, on: map[string]string{}, created: noon.Add(-time.Hour)}
		for _, template := range w.former.Templates {
			name := claimName(template.Name, ordinal)
			c := &worldClaim{object: w.fresh("claim"), template: template, volume: "pv-" + name, protected: true, capacity: template.Size}
			w.latest[name]++
			w.claims[name] = c
			w.volumes[c.volume] = &worldVolume{object: w.fresh("volume"), name: c.volume, ref: volumes.Ref{Name: name, UID: c.uid}, template: template, data: w.latest[name]}
			pod.on[template.Name] = c.volume
		}
		w.pods[ordinal] = pod
	}
	w.syncAll()
	return w
}

func claimName(template string, ordinal int32) string {
	return fmt.Sprintf("%s-%s-%d", template, setName, ordinal)
}

// fresh returns the metadata of a new object.
func (w *world) fresh(kind string) object {
	w.version++
	return object{types.UID(fmt.Sprintf("%s-%d", kind, w.version)), w.version}
}

// touch changes the resourceVersion of an object.
func (w *world) touch(o *object) {
	w.version++
	o.rv = w.version
}

func (w *world) note(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n\n%s", fmt.Sprintf(format, args...), strings.Join(w.story[max(0, len(w.story)-60):], "\n"))
}

// observe returns the snapshot, read from the API server.
func (w *world) observe() Snapshot {
	s := Snapshot{Now: w.now, Mode: w.mode, Wanted: w.wanted, Budget: w.budget, Margin: 10, Deadline: w.deadline, Record: w.record}
	s.Set = Set{Namespace: "shop", Name: setName}
	if w.set != nil {
		s.Set = Set{
			Found: true, Namespace: "shop", Name: setName, UID: w.set.uid, ResourceVersion: strconv.Itoa(w.set.rv), Terminating: w.set.terminating, RolledOut: !w.rolling,
			Owner: w.set.owner, Operator: w.set.operator, Updates: w.updates, Locked: w.set.locked, Unlock: "unlock", DeletesClaims: w.set.deletes, Keeps: w.set.keeps, Manifest: w.set.manifest, Poked: w.set.poked,
		}
	}
	if w.healthy > 0 {
		s.Evictions = &Evictions{Allowed: int32(max(0, w.ready()-w.healthy)), Unhealthy: w.always || w.ready() >= w.healthy, Unlock: "unlock"}
		if w.second {
			s.Evictions = &Evictions{Never: volumes.Stalled(api.ReasonSeveralBudgets, "two select it", "leave one")}
		}
	}
	for ordinal := range int32(replicas) {
		o := Ordinal{Ordinal: ordinal}
		if pod := w.pods[ordinal]; pod != nil {
			o.Pod = Pod{Found: true, UID: pod.uid, Terminating: pod.terminating, Ready: pod.ready, Available: pod.ready, Pending: pod.node == "", Node: pod.node, Created: pod.created}
		}
		for _, template := range w.former.Templates {
			o.Slots = append(o.Slots, w.slot(template.Name, ordinal))
		}
		s.Ordinals = append(s.Ordinals, o)
	}
	if s.Where() != After {
		w.starts = w.now
	}
	s.Starts = w.now.Sub(w.starts)
	return s
}

func (w *world) slot(template string, ordinal int32) Slot {
	name := claimName(template, ordinal)
	s := Slot{Template: template, Ref: volumes.Ref{Namespace: "shop", Name: name}, Used: w.used}
	old, next := "", ""
	if c := w.claims[name]; c != nil {
		s.Claim = Claim{
			Found: true, UID: c.uid, ResourceVersion: strconv.Itoa(c.rv), Volume: c.volume, Bound: w.bound(c), Held: c.held, Ours: c.ours, Kept: c.protected, Terminating: c.terminating, Owned: c.owned, Users: c.users, Stays: c.stays,
		}
		s.Needs, s.Returns, old = w.needs(c, w.wanted), w.returns(c), c.volume
		s.Asks, s.Change, s.Keeps, s.Why = Request{c.template.Size, c.template.Attributes}, w.change(c), w.keeps, "it is another volume"
	}
	if h := w.record.Handoff; h != nil && h.Ordinal == ordinal {
		for _, handed := range h.Slots {
			if handed.Template == template {
				old, next = handed.Old, handed.New
			}
		}
	}
	s.Old = w.volume(old)
	if f := w.fills[name]; f != nil {
		next, s.Seal = cmp.Or(next, f.volume), f.seal
	}
	s.New = w.volume(next)
	return s
}

// bound reports whether a claim and its volume name each other.
func (w *world) bound(c *worldClaim) bool {
	v := w.volumes[c.volume]
	return v != nil && v.ref.UID == c.uid
}

// effective returns the template that a claim follows: the class of its volume counts.
func (w *world) effective(c *worldClaim) Template {
	has := c.template
	if v := w.volumes[c.volume]; v != nil {
		has.Class = v.template.Class
	}
	return has
}

func (w *world) volume(name string) Volume {
	v := w.volumes[name]
	if v == nil {
		return Volume{}
	}
	ref, attached := v.ref, ""
	ref.Namespace = "shop"
	if w.attached && w.usedBy(name) {
		attached = "node"
	}
	var departing *volumes.Reason
	if v.departing {
		departing = volumes.Stalled(volumes.ReasonVolumeLost, "volume "+name+" is being deleted", "create it again")
	}
	return Volume{
		Departing: departing, Found: true, Name: name, UID: v.uid, ResourceVersion: strconv.Itoa(v.rv), Retain: v.retain, Secured: v.secured, Ref: ref, Available: v.available, Attached: attached,
		Size: v.template.Size, Block: v.template.Block, Attributes: v.template.Attributes,
	}
}

func (w *world) ready() int {
	n := 0
	for _, pod := range w.pods {
		if pod.ready && !pod.terminating {
			n++
		}
	}
	return n
}

// step plans once, and does the one thing that was decided. It reports whether the migration is done.
func (w *world) step() bool {
	w.now = w.now.Add(time.Second)
	d := Plan(w.observe(), w)
	w.perform(d)
	return d.Done
}

// perform carries out the decision.
func (w *world) perform(d Decision) {
	switch {
	case d.Record != nil:
		w.record = *d.Record
		w.note("record %+v", w.record.Handoff)
	case d.Action != nil:
		done := w.write(*d.Action)
		w.note("%s %s: %t", d.Action.Verb, d.Action.Name, done)
		if d.Action.Verb == Evict && !done {
			w.fail("an eviction is asked for that the budget refuses")
		}
	}
	w.check()
}

// write makes a write, and reports whether the API server has accepted it.
func (w *world) write(a Action) bool {
	if a.Verb == Fill {
		return w.writeFill(a)
	}
	if v := w.volumes[a.Name]; v != nil {
		return a.matches(v.object) && w.writeVolume(v, a)
	}
	if c := w.claims[a.Name]; c != nil {
		return a.matches(c.object) && w.writeClaim(c, a)
	}
	switch a.Verb {
	case DeleteSet, PokeSet, UpdateSet:
		return w.set != nil && a.matches(w.set.object) && w.writeSet(a)
	case CreateSet:
		if w.updates {
			w.fail("a set whose templates change is created")
		}
		if w.set != nil {
			return false
		}
		w.set = &worldSet{object: w.fresh("set"), manifest: a.Manifest}
		if w.admits != nil {
			w.set.manifest = *w.admits
		}
		return true
	case Evict:
		return w.evict(a)
	case CreateClaim:
		return w.createClaim(a)
	default:
		return false
	}
}

// writeSet updates the set, or deletes it.
func (w *world) writeSet(a Action) bool {
	w.touch(&w.set.object)
	switch {
	case a.Verb == PokeSet:
		w.poked()
		w.set.poked = a.Poke
	case (a.Verb == UpdateSet) != w.updates:
		w.fail("%s, and the templates change by an update: %t", a.Verb, w.updates)
	case a.Verb == UpdateSet && w.set.locked != "":
		return false
	case a.Verb == UpdateSet:
		w.set.manifest = a.Manifest
	default:
		w.set.terminating = true
	}
	return true
}

// poked checks that the set is poked only when its controller can create what is missing.
func (w *world) poked() {
	for _, handed := range w.record.Handoff.Slots {
		if c := w.claims[claimName(handed.Template, w.record.Handoff.Ordinal)]; c != nil && c.uid == handed.Claim && c.terminating {
			w.fail("the set is poked while its controller must refuse the pod")
		}
	}
}

// matches reports whether the judged object is the present one.
func (a Action) matches(o object) bool {
	return a.UID == o.uid && a.ResourceVersion == strconv.Itoa(o.rv)
}

func (w *world) writeVolume(v *worldVolume, a Action) bool {
	switch a.Verb {
	case Secure:
		v.retain, v.secured = true, true
	case Restore:
		v.retain, v.secured = false, false
	case Reserve, Park:
		if !v.retain {
			w.fail("volume %s loses its claim with the policy Delete", v.name)
		}
		if a.Verb == Reserve && w.written(v.name) {
			w.fail("volume %s is reserved while a pod of the filler can write to it", v.name)
		}
		w.lasts(v)
		if c := w.claims[v.ref.Name]; c != nil && c.uid == v.ref.UID && c.volume == v.name && !c.terminating {
			w.fail("volume %s is taken from claim %s, which is bound to it (I2)", v.name, v.ref.Name)
		}
		v.ref = volumes.Ref{Name: a.Ref.Name, UID: a.Ref.UID}
	default:
		w.fail("%s is no write to a volume", a.Verb)
	}
	w.touch(&v.object)
	return true
}

// lasts checks that a volume whose claimRef changes was not deleted. It would disappear.
func (w *world) lasts(v *worldVolume) {
	if v.departing {
		w.fail("the object of volume %s disappears, and with it the record of its disk (I3)", v.name)
	}
}

func (w *world) writeClaim(c *worldClaim, a Action) bool {
	switch a.Verb {
	case HoldClaim:
		if c.terminating {
			return false // an API server accepts no new finalizer then
		}
		c.held = true
	case ReleaseClaim:
		c.held = false
	case ChangeClaim:
		if c.terminating || w.volumes[c.volume].ref.UID != c.uid {
			return false
		}
		c.template.Size, c.template.Attributes = a.Request.Size, a.Request.Attributes
	case DeleteClaim:
		if !c.held {
			w.fail("claim %s is deleted without our finalizer", a.Name)
		}
		c.terminating = true
	case DropClaim:
		if w.bound(c) {
			w.fail("claim %s is bound, and is deleted without our finalizer", a.Name)
		}
		c.terminating = true
	default:
		w.fail("%s is no write to a claim", a.Verb)
	}
	w.touch(&c.object)
	w.collect()
	return true
}

// createClaim creates a claim in the form of the present template, however late that is.
func (w *world) createClaim(a Action) bool {
	manifest := w.wanted
	if w.set != nil {
		manifest = w.set.manifest
	}
	at := slices.IndexFunc(manifest.Templates, func(t Template) bool { return t.Name == a.Template })
	w.claims[a.Name] = &worldClaim{object: w.fresh("claim"), template: manifest.Templates[at], volume: a.Volume, protected: true, ours: true}
	return true
}

// evict is the eviction API.
func (w *world) evict(a Action) bool {
	for _, pod := range w.pods {
		if pod.uid != a.UID || pod.terminating {
			continue
		}
		if w.refusesEviction(pod) {
			return false
		}
		pod.terminating, pod.ready, w.evicted = true, false, w.evicted+1
		w.touch(&pod.object)
		return true
	}
	return false
}

// refusesEviction reports whether the PodDisruptionBudget refuses the eviction of a pod.
func (w *world) refusesEviction(pod *worldPod) bool {
	switch {
	case w.healthy == 0, pod.node == "":
		return false
	case w.second:
		return true
	case pod.ready:
		return w.ready()-1 < w.healthy
	default:
		return !w.always && w.ready() < w.healthy
	}
}

// collect removes claims that nothing keeps.
func (w *world) collect() {
	maps.DeleteFunc(w.claims, func(_ string, c *worldClaim) bool { return c.terminating && !c.held && !c.protected })
}

// check checks the invariants.
func (w *world) check() {
	w.t.Helper()
	if down := replicas - w.ready(); down > w.budget && w.lost == "" && !w.failed {
		w.fail("%d replicas are down, and %d may be (I4)", down, w.budget)
	}
	mounted := map[string]int32{}
	for ordinal, pod := range w.pods {
		for template, name := range pod.on {
			if other, twice := mounted[name]; twice {
				w.fail("ordinals %d and %d have mounted volume %s (I2)", ordinal, other, name)
			}
			if mounted[name] = ordinal; w.written(name) {
				w.fail("the pod of ordinal %d is on volume %s, to which a pod of the filler can write (I2)", ordinal, name)
			}
			if v := w.volumes[name]; !w.foreign && (v == nil || v.data != w.latest[claimName(template, ordinal)]) {
				w.fail("the pod of ordinal %d is on volume %s without its last write: %+v (I3)", ordinal, name, v)
			}
		}
	}
	if len(w.provisioned) > 0 && !w.foreign {
		w.fail("empty volumes were provisioned for %v (I3)", w.provisioned)
	}
}

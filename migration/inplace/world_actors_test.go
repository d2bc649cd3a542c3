package inplace

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sliceshift/sliceshift/volumes"
)

// copied returns the values of a map of pointers.
func copied[K comparable, V any](from map[K]*V) map[K]V {
	all := map[K]V{}
	for key, value := range from {
		all[key] = *value
	}
	return all
}

// The parts of the caches are refreshed each on its own.
func (w *world) syncSet() {
	before := w.sets.set
	w.sets.set = nil
	if w.set != nil {
		w.sets.set = new(*w.set)
	}
	if before == nil || w.set == nil || before.rv != w.set.rv {
		w.sets.backoff = false
	}
}
func (w *world) syncSetClaims() { w.sets.claims = copied(w.claims) }
func (w *world) syncSetPods() {
	before := w.sets.pods
	w.sets.pods = copied(w.pods)
	if !maps.EqualFunc(before, w.sets.pods, func(a, b worldPod) bool { return a.object == b.object }) {
		w.sets.backoff = false
	}
}
func (w *world) syncClaims() { w.binds.claims = copied(w.claims) }

// syncVolumes refreshes the volumes of the volume controller, which then updates their phases: a reference without a uid is
// Available.
func (w *world) syncVolumes() {
	for _, v := range w.volumes {
		if available := v.ref.Name != "" && v.ref.UID == ""; available != v.available {
			v.available = available
			w.touch(&v.object)
		}
	}
	w.binds.volumes = copied(w.volumes)
}

func (w *world) syncAll() {
	for _, sync := range []func(){w.syncSet, w.syncSetClaims, w.syncSetPods, w.syncClaims, w.syncVolumes} {
		sync()
	}
}

// controlSet is a pass of the StatefulSet controller, on its cache. It creates the missing claims of each missing pod, and the
// pod if there was no error. For a Pending pod it creates missing claims.
func (w *world) controlSet() {
	set := w.sets.set
	if set == nil || set.terminating || w.set == nil || w.set.uid != set.uid || w.sets.backoff {
		return
	}
	for ordinal := range int32(replicas) {
		cached, known := w.sets.pods[ordinal]
		if known && cached.node != "" {
			continue
		}
		switch {
		case !w.createClaims(set, ordinal):
			w.sets.backoff = true
		case !known && w.pods[ordinal] == nil:
			w.pods[ordinal] = &worldPod{object: w.fresh("pod"), on: map[string]string{}, created: w.now}
			w.note("the controller creates pod %d", ordinal)
		}
	}
	w.check()
}

// createClaims creates the claims of an ordinal that the cache lacks, and reports whether there was no error.
func (w *world) createClaims(set *worldSet, ordinal int32) bool {
	ok := true
	for _, template := range set.manifest.Templates {
		name := claimName(template.Name, ordinal)
		cached, known := w.sets.claims[name]
		switch {
		case known:
			ok = ok && !cached.terminating
		case w.claims[name] != nil:
			ok = false // AlreadyExists
		default:
			w.claims[name] = &worldClaim{object: w.fresh("claim"), template: template, protected: true}
			w.note("the controller creates claim %s of %s", name, template.Class)
		}
	}
	return ok
}

// bind is a pass of the volume controller, on its cache: it binds claims to volumes that are reserved for them and fit, or
// provisions an empty volume.
func (w *world) bind() {
	for _, name := range slices.Sorted(maps.Keys(w.binds.claims)) {
		cached, c := w.binds.claims[name], w.claims[name]
		switch {
		case c == nil || c.uid != cached.uid || c.terminating:
		case c.ours && !w.bound(c):
			w.bindNamed(name, c)
		case cached.volume == "" && c.volume == "":
			w.bindOne(name, c)
		}
	}
	w.check()
}

// bindNamed binds a claim to the volume that it names, if that is reserved for it. Nothing is provisioned for it.
func (w *world) bindNamed(name string, c *worldClaim) {
	cached, v := w.binds.volumes[c.volume], w.volumes[c.volume]
	if cached.ref.Name != name || cached.ref.UID != "" || v == nil || v.rv != cached.rv {
		return
	}
	v.ref.UID, v.available = c.uid, false
	w.touch(&v.object)
	w.touch(&c.object)
	w.note("claim %s is bound to %s, which it names", name, c.volume)
}

func (w *world) bindOne(name string, c *worldClaim) {
	for _, key := range slices.Sorted(maps.Keys(w.binds.volumes)) {
		cached := w.binds.volumes[key]
		if cached.departing || cached.ref.Name != name || cached.ref.UID != "" || !(Volume{Size: cached.template.Size, Block: cached.template.Block, Attributes: cached.template.Attributes}).fits(c.template) {
			continue
		}
		v := w.volumes[key]
		if v == nil || v.rv != cached.rv {
			return // a conflict: it is tried again
		}
		v.ref.UID, v.available, c.volume = c.uid, false, key
		c.capacity, c.attributes = v.template.Size, v.template.Attributes
		w.touch(&v.object)
		w.touch(&c.object)
		w.note("claim %s is bound to %s", name, key)
		return
	}
	v := &worldVolume{object: w.fresh("volume"), name: "pvc-" + string(c.uid), ref: volumes.Ref{Name: name, UID: c.uid}, template: c.template}
	w.volumes[v.name], c.volume, c.capacity, c.attributes = v, v.name, c.template.Size, c.template.Attributes
	w.touch(&c.object)
	w.provisioned = append(w.provisioned, name)
	w.note("an empty volume is provisioned for claim %s", name)
}

// protect is the controller that keeps claims while a scheduled pod names them.
func (w *world) protect() {
	for ordinal := range int32(replicas) {
		for _, template := range w.former.Templates {
			c := w.claims[claimName(template.Name, ordinal)]
			if c == nil || !c.terminating || !c.protected || len(c.users) > 0 || w.fills[claimName(template.Name, ordinal)].names() {
				continue
			}
			if pod := w.pods[ordinal]; pod == nil || pod.node == "" {
				c.protected = false
				w.touch(&c.object)
			}
		}
	}
	w.collect()
	w.check()
}

// orphan is the garbage collector: it ends the deletion of the set, and its pods and claims stay.
func (w *world) orphan() {
	if w.set != nil && w.set.terminating {
		w.set = nil
		w.note("the set is deleted")
	}
}

// run is a pass of scheduler and kubelets: pods end, and pods start whose claims are bound and not being deleted.
func (w *world) run() {
	for ordinal := range int32(replicas) {
		pod := w.pods[ordinal]
		if pod == nil {
			continue
		}
		if pod.terminating {
			if pod.node == "" || pod.node != w.lost {
				delete(w.pods, ordinal)
				w.note("pod %d ends", ordinal)
			}
			continue
		}
		w.start(ordinal, pod)
	}
	w.check()
}

func (w *world) start(ordinal int32, pod *worldPod) {
	if pod.node != "" {
		return
	}
	on := map[string]string{}
	for _, template := range w.former.Templates {
		c := w.claims[claimName(template.Name, ordinal)]
		if c == nil || c.terminating || c.volume == "" || w.volumes[c.volume] == nil || w.volumes[c.volume].ref.UID != c.uid {
			return
		}
		on[template.Name] = c.volume
	}
	for name := range on {
		w.mount(w.claims[claimName(name, ordinal)])
	}
	pod.node, pod.ready, pod.on = fmt.Sprintf("node-%d", ordinal), true, on
	for _, name := range on {
		pod.ready = pod.ready && (w.sick == "" || w.volumes[name].template.Class != w.sick)
	}
	w.touch(&pod.object)
	w.note("pod %d starts on %v", ordinal, on)
}

// use is the application: each running pod writes.
func (w *world) use() {
	for ordinal, pod := range w.pods {
		for template, name := range pod.on {
			if v := w.volumes[name]; v != nil {
				w.latest[claimName(template, ordinal)]++
				v.data++
			}
		}
	}
	w.check()
}

// caches is the number of caches: the first of others refresh them.
const caches = 5

// turn lets all others act in turn. A slow cache is refreshed in some rounds only.
func (w *world) turn() {
	w.round++
	for i, act := range w.others() {
		if w.period == 0 || i != w.slow || w.round%w.period == 0 {
			act()
		}
	}
}

// others are all actors except the migration.
func (w *world) others() []func() {
	return []func(){w.syncSet, w.syncSetClaims, w.syncSetPods, w.syncClaims, w.syncVolumes, w.controlSet, w.bind, w.protect, w.orphan, w.run, w.use, w.drive}
}

// settle lets all act in turn until the migration is done, or nothing changes any more. It returns the last decision.
func (w *world) settle() Decision {
	w.t.Helper()
	const enough = 2000
	var last Decision
	for still, rounds := 0, 0; still < 40 && rounds < enough; rounds++ {
		before := w.version
		w.turn()
		w.now = w.now.Add(1e9)
		last = Plan(w.observe(), w)
		w.now = w.now.Add(last.Wait)
		w.perform(last)
		if last.Done {
			return last
		}
		if still++; w.version != before || last.Record != nil || last.Action != nil {
			still = 0
		}
	}
	return last
}

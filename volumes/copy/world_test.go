package copy

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

const owner = volumestest.Owner

// pod is a running mover: its volume stays mounted until the pod is deleted.
type pod struct {
	volumes.Mover
	role    volumes.Role
	side    int
	claim   string
	address string
	mounted *volumestest.Disk
	// verify selects how much it reads at the end of its pass.
	verify api.CopyVerify
	// fresh is true if it creates no key when its volume holds data.
	fresh bool
}

// door is the Service of a receiver, of the type that was requested when it was created.
type door struct {
	volumes.Entrance
	kind string
}

// theirs is the content of another user's disk.
const theirs = 1 << 20

// world adds movers, which act at any time and read and write the volumes.
type world struct {
	*volumestest.World
	movers    map[string]*pod
	entrances map[string]*door
	// alone is true if the claim allows one pod only. bases are the restored claims that warm passes then read,
	// by name.
	alone bool
	bases map[string]*base
	// attaches is true if a VolumeAttachment shows where a pod has the volume mounted. pinned is true if no new volume
	// is detached.
	attaches, pinned bool
	nodes            nodes
	// cold is true if the ordinal is copied only once it is down.
	cold bool
	// unready is true if the ordinal's own pod is not Ready, and node is the node that it runs on.
	unready bool
	node    int
	// early is true if it is not the ordinal's turn yet.
	early bool
	// several is true if the ordinal has other claims that are copied.
	several bool
	// relayed is true if neither mover reaches the other. kind is the requested type of Services.
	relayed bool
	kind    string
	// limit is the longest time for which the ordinal may be copied while it is down, counted from stopped; 0
	// for no limit.
	limit   time.Duration
	stopped time.Time
	// mute is true if no mover reports anything while the ordinal is down.
	mute bool
	// verify is how copies are verified, and accepted is true if the user accepts one that is not proven.
	verify   api.CopyVerify
	accepted bool
	// used is true if the volumes that claims get existed before, with another user's data.
	used bool
	// twice is a claim name for which a volume was created a second time.
	twice string
	made  map[string]bool
}

// ofSeveral is the method for an ordinal with several copied claims: each claim is created first.
type ofSeveral struct{ Copy }

func (m ofSeveral) Transfer(pair volumes.Pair) volumes.Verdict {
	return claimed(pair, m.Copy.Transfer)
}

// claimed returns the next step of the claim, or else that of then.
func claimed(pair volumes.Pair, then func(volumes.Pair) volumes.Verdict) volumes.Verdict {
	if verdict := (Copy{}).Ahead(pair, volumes.Claimed); verdict.Action != nil || verdict.Attempt != nil {
		return verdict
	}
	return then(pair)
}

func newWorld() *world { return newWorldOf(Copy{}) }

func newWorldOf(method volumes.Method) *world {
	w := &world{World: volumestest.New(method), movers: map[string]*pod{}, entrances: map[string]*door{}, made: map[string]bool{}, bases: map[string]*base{}, nodes: nodes{attached: map[string]bool{}}}
	w.Around = w
	return w
}

// Pair returns the pair that an observer sees.
func (w *world) Pair() volumes.Pair {
	pair := w.World.Pair()
	seen := pair.Copy
	seen.Asked, seen.Early = volumes.CopyAsked{Image: "mover", Limit: w.limit, Verify: w.verify, Accepted: w.accepted}, w.early
	if w.cold {
		seen.Asked.Warm = api.CopyWarmNone
	}
	if w.relayed {
		seen.Asked.Transport = api.TransportRelay
	}
	if w.attaches && w.Runs == w.Giver {
		pair.Giver.Volume.Attachments = []volumes.Attachment{{Name: "own", Node: strconv.Itoa(w.node)}}
	}
	if pair.Giver.Claim.OncePod = w.alone; w.alone {
		seen.Snapshot.Giver = volumes.SnapshotSide{Cluster: "here", Asked: true, Served: true, Class: "class"}
	}
	seen.Pod = volumes.CopyPod{Found: w.Runs == w.Giver, Ready: !w.unready, Node: strconv.Itoa(w.node)}
	if w.Record.Number == 0 {
		return pair
	}
	giver, taker := w.Places[w.From()], w.Places[1-w.From()]
	if d := w.entrances[seen.Incoming.Ref.Name]; d != nil {
		seen.Entrance = d.Entrance
		seen.Entrance.Other = d.kind != w.kind
	}
	seen.Receiver = w.mover(volumes.RoleReceiver, taker.Ref)
	seen.Sender, seen.Warm = w.mover(volumes.RoleSender, giver.Ref), w.mover(volumes.RoleWarm, giver.Ref)
	seen.Prover = w.mover(volumes.RoleProver, giver.Ref)
	if b := w.bases[BaseRef(giver.Ref, owner, w.Record.Number).Name]; b != nil {
		seen.Base = b.Base
	}
	w.showAttached(&pair)
	return pair
}

// mover returns the mover of a role in the present attempt.
func (w *world) mover(role volumes.Role, claim volumes.Ref) volumes.Mover {
	if m := w.movers[PodName(role, claim, owner, w.Record.Number)]; m != nil {
		return m.Mover
	}
	return volumes.Mover{}
}

// Leave makes passes while the ordinal runs, first, and then lets the movers of the last pass stand by.
func (w *world) Leave(pair volumes.Pair) volumes.Verdict {
	ahead := func(pair volumes.Pair) volumes.Verdict { return Copy{}.Ahead(pair, volumes.Warm) }
	if w.several {
		ahead = func(pair volumes.Pair) volumes.Verdict {
			return claimed(pair, func(pair volumes.Pair) volumes.Verdict { return Copy{}.Ahead(pair, volumes.Warm) })
		}
	}
	if verdict := ahead(pair); !verdict.Done() {
		return verdict
	}
	if w.early {
		return volumes.Awaits("it is its turn")
	}
	if verdict := (Copy{}).Ahead(pair, volumes.Standby); !verdict.Done() {
		return verdict
	}
	return w.World.Leave(pair)
}

// Decide first takes back an ordinal that has been copied for too long while it is down.
func (w *world) Decide(t volumestest.Failer) *volumestest.Late {
	pair, down := w.Pair(), w.Runs == volumestest.Nowhere
	if down && volumes.HandingOf(pair).Overdue(w.Now.Sub(w.stopped)) {
		if volumes.HandingOf(pair).Taken() {
			t.Fatal("it is taken back although its copy was taken over")
		}
		w.Turn()
		return nil
	}
	write := w.World.Decide(t)
	if !down && w.Runs == volumestest.Nowhere {
		w.stopped = w.Now
	}
	if h := volumes.HandingOf(pair); down && w.Runs != volumestest.Nowhere && h.Taken() && !h.Back {
		w.checkStarted(t)
	}
	return write
}

// Act lets provisioners, binders, kubelets and movers act once.
func (w *world) Act() {
	w.binder()
	w.driver()
	if !w.pinned {
		w.detaches()
	}
	for _, name := range w.names() {
		w.kubelet(name)
	}
	for what := 1; what <= 3 && (!w.mute || w.Runs != volumestest.Nowhere); what++ {
		w.talk(what)
	}
}

// binder lets the provisioners and binders of both sides act, and load balancers, which delay the deletion of a
// Service.
func (w *world) binder() {
	maps.DeleteFunc(w.entrances, func(_ string, d *door) bool { return !d.Leaving.IsZero() })
	for _, p := range w.Places {
		for _, name := range slices.Sorted(maps.Keys(p.Incoming)) {
			if p.Incoming[name].Volume != "" {
				continue
			}
			if w.made[p.Ref.Namespace+name] {
				w.twice = name
			}
			w.made[p.Ref.Namespace+name] = true
			w.Provision(p, name, "d", 0)
			if made := p.Disks[p.Incoming[name].Volume]; w.used {
				made.Content, made.Chosen = theirs, true
			}
		}
	}
	w.World.Act()
}

// Arrive processes a write as an API server does: it is refused if the object was changed since it was judged.
func (w *world) Arrive(t volumestest.Failer, write volumestest.Late) {
	switch write.Verb {
	case volumes.TakeBase, volumes.RestoreBase, volumes.DropBase, volumes.DropBaseSnapshot:
		w.writeBase(write)
	case volumes.CreateEntrance, volumes.DeleteEntrance:
		w.writeEntrance(write.Action)
	case volumes.CreateMover, volumes.MarkMover, volumes.TellMover, volumes.DeleteMover:
		w.writeMover(write)
	default:
		w.World.Arrive(t, write)
	}
}

func (w *world) writeEntrance(a volumes.Action) {
	switch d := w.entrances[a.Ref.Name]; {
	case a.Verb == volumes.CreateEntrance && d == nil:
		w.entrances[a.Ref.Name] = &door{kind: w.kind, Entrance: volumes.Entrance{Found: true, UID: types.UID("service" + w.Next()), ResourceVersion: w.Next(), Address: w.kind + "address"}}
	case a.Verb == volumes.DeleteEntrance && d != nil && d.UID == a.UID && d.ResourceVersion == a.ResourceVersion:
		d.Leaving, d.ResourceVersion = w.Now, w.Next()
	}
}

func (w *world) writeMover(write volumestest.Late) {
	a := write.Action
	m := w.movers[a.Copy.Pod]
	if a.Verb == volumes.CreateMover {
		if m == nil {
			w.movers[a.Copy.Pod] = &pod{role: a.Copy.Role, fresh: a.Copy.Fresh, verify: a.Copy.Verify, side: write.Side, claim: a.Ref.Name, address: a.Copy.Address, Mover: volumes.Mover{
				Found: true, UID: types.UID("pod" + w.Next()), ResourceVersion: w.Next(), Attempt: a.Copy.Attempt, Pass: a.Copy.Pass, Warm: a.Copy.Warm, Relayed: a.Copy.Relayed, Claim: a.Ref.Name, Node: a.Copy.Node, Made: w.Now, Fence: a.Fence,
			}}
		}
		return
	}
	if m == nil || m.UID != a.UID || m.ResourceVersion != a.ResourceVersion {
		return
	}
	m.Fence, m.ResourceVersion = a.Fence, w.Next()
	switch a.Verb {
	case volumes.TellMover:
		m.Peer = a.Copy.Peer
	case volumes.DeleteMover:
		m.Terminating = true
	default:
	}
}

package plan

import (
	"strings"

	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// The kinds of objects that effects write, in addition to those of package volumes. KindCopy and KindWriter stand for
// objects of many kinds.
const (
	KindSet       volumes.Kind = "statefulset"
	KindBudget    volumes.Kind = "poddisruptionbudget"
	KindNamespace volumes.Kind = "namespace"
	KindJob       volumes.Kind = "job"
	KindCopy      volumes.Kind = "copy"
	KindWriter    volumes.Kind = "writer"
)

// row describes the effects of a verb. ordinal is true if they concern only one ordinal.
type row struct {
	kind    volumes.Kind
	change  volumes.Change
	ordinal bool
}

var rows = map[Verb]row{
	WriteFence:   {KindSet, volumes.Updates, false},
	ReleaseFence: {KindSet, volumes.Updates, false},
	SetShare:     {KindSet, volumes.Updates, false},
	LiftShare:    {KindSet, volumes.Updates, false},
	ScaleDown:    {KindSet, volumes.Updates, true},
	ScaleUp:      {KindSet, volumes.Updates, true},
	CreateSet:    {KindSet, volumes.Creates, false},
	DeleteSet:    {KindSet, volumes.Deletes, false},

	OrphanSet:   {KindSet, volumes.Deletes, false},
	RecreateSet: {KindSet, volumes.Creates, false},
	UpdateSet:   {KindSet, volumes.Updates, false},
	PokeSet:     {KindSet, volumes.Updates, true},
	ChangeClaim: {volumes.KindClaim, volumes.Updates, true},
	HoldClaim:   {volumes.KindClaim, volumes.Updates, true},
	EndClaim:    {volumes.KindClaim, volumes.Deletes, true},
	FreeClaim:   {volumes.KindClaim, volumes.Updates, true},
	EvictPod:    {volumes.KindPod, volumes.Deletes, true},

	CreateBudget:  {KindBudget, volumes.Creates, false},
	SetBudget:     {KindBudget, volumes.Updates, false},
	RestoreBudget: {KindBudget, volumes.Updates, false},
	DeleteBudget:  {KindBudget, volumes.Deletes, false},

	CreateNamespace:  {KindNamespace, volumes.Creates, false},
	CreateService:    {volumes.KindService, volumes.Creates, false},
	CreateExport:     {volumes.KindExport, volumes.Creates, false},
	DeleteExport:     {volumes.KindExport, volumes.Deletes, false},
	CreatePodService: {volumes.KindService, volumes.Creates, true},
	MarkPodService:   {volumes.KindService, volumes.Updates, true},
	DeletePodService: {volumes.KindService, volumes.Deletes, true},
	CreatePodExport:  {volumes.KindExport, volumes.Creates, true},
	MarkPodExport:    {volumes.KindExport, volumes.Updates, true},
	DeletePodExport:  {volumes.KindExport, volumes.Deletes, true},

	CreateCopy:    {KindCopy, volumes.Creates, false},
	UpdateCopy:    {KindCopy, volumes.Updates, false},
	DeleteCopy:    {KindCopy, volumes.Deletes, false},
	RunHook:       {KindJob, volumes.Creates, false},
	StartHook:     {KindJob, volumes.Updates, false},
	PauseWriter:   {KindWriter, volumes.Updates, false},
	ReleaseWriter: {KindWriter, volumes.Updates, false},
	UnmarkWriter:  {KindWriter, volumes.Updates, false},

	RestorePolicy: {volumes.KindVolume, volumes.Updates, true},
	DeleteVolume:  {volumes.KindVolume, volumes.Deletes, true},
	DeleteClaim:   {volumes.KindClaim, volumes.Deletes, true},
}

func (e Effect) row() row {
	if e.Verb == CarryVolume {
		return row{e.Volume.Kind(), e.Volume.Change(), true}
	}
	return rows[e.Verb]
}

// Change returns the change of the effect's object.
func (e Effect) Change() volumes.Change { return e.row().change }

// On returns the kind of the object that the effect writes.
func (e Effect) On() volumes.Kind { return e.row().kind }

// Does reports whether the effect makes a change to an object of a kind.
func (e Effect) Does(change volumes.Change, kind volumes.Kind) bool {
	return e.On() == kind && e.Change() == change
}

// Carries reports whether the effect is a step of package volumes.
func (e Effect) Carries() bool { return e.Verb == CarryVolume }

// OfOrdinal reports whether the effect concerns only one ordinal and its volumes.
func (e Effect) OfOrdinal() bool { return e.row().ordinal }

// OfPod reports whether the effect concerns the Service or the export of one ordinal's pod.
func (e Effect) OfPod() bool {
	return e.OfOrdinal() && !e.Carries() && (e.On() == volumes.KindService || e.On() == volumes.KindExport)
}

// Stops reports whether the effect stops an ordinal.
func (e Effect) Stops() bool { return e.Verb == ScaleDown || e.Verb == EvictPod }

// Starts reports whether the effect starts an ordinal.
func (e Effect) Starts() bool { return e.Verb == ScaleUp || e.Verb == FreeClaim }

// Hands reports whether the effect is part of the handoff of one ordinal.
func (e Effect) Hands() bool { return e.Carries() || e.Stops() || e.Starts() }

// InPlace reports whether the effect is a write that only a migration in place makes.
func (e Effect) InPlace() bool {
	switch e.Verb {
	case OrphanSet, RecreateSet, UpdateSet, PokeSet, ChangeClaim, HoldClaim, EndClaim, FreeClaim, EvictPod:
		return true
	default:
		return false
	}
}

// Fences reports whether the effect claims a StatefulSet for this process.
func (e Effect) Fences() bool { return e.Verb == WriteFence }

// OnlyFences reports whether the effect writes only the fence of a StatefulSet, or removes it.
func (e Effect) OnlyFences() bool { return e.Verb == WriteFence || e.Verb == ReleaseFence }

// Reserves reports whether the effect writes a share of the disruption budget.
func (e Effect) Reserves() bool { return e.Verb == SetBudget || e.Verb == SetShare }

// Wide reports whether the effect relies on the pods of a whole slice.
func (e Effect) Wide() bool { return e.Verb == DeleteSet || e.Verb == SetShare }

// Secures reports whether the effect sets a volume to Retain, the last step before a stop.
func (e Effect) Secures() bool { return e.Carries() && e.Volume.Verb == volumes.Secure }

// Parks reports whether the effect takes a volume from its claim.
func (e Effect) Parks() bool { return e.Carries() && e.Volume.Verb == volumes.Park }

// Fills reports whether the effect creates a pod for a copy.
func (e Effect) Fills() bool { return e.Carries() && e.Volume.Verb == volumes.CreateMover }

// TakesOver reports whether the effect points the volume that was filled at the ordinal's claim.
func (e Effect) TakesOver() bool { return e.Carries() && e.Volume.Verb == volumes.TakeOver }

// Restores reports whether the effect restores the reclaim policy of a volume.
func (e Effect) Restores() bool { return e.Verb == RestorePolicy }

// Copies reports whether the effect concerns a copy of a dependency.
func (e Effect) Copies() bool { return e.On() == KindCopy }

// RunsHook reports whether the effect concerns the Job of a hook.
func (e Effect) RunsHook() bool { return e.On() == KindJob }

// FillsSecond reports whether the effect belongs to a method that fills a second volume. The objects for that have
// names of their own, so no watch of the migration reports them.
func (e Effect) FillsSecond() bool { return e.Carriage.Method.FillsSecond() }

// ForMovers reports whether the effect writes an object that only movers use. Such an object does not carry an
// ordinal's name: no event of it enqueues the Migration, and it is always read live.
func (e Effect) ForMovers() bool { return e.Carries() && e.Volume.ForMovers() }

// TakesAway reports whether the effect takes a volume from the side that had it. Between clusters, and where each
// side has its own volume, that is the parking of the volume. In one cluster, it is the same write that gives the
// volume to the other side.
func (e Effect) TakesAway(sameCluster bool) bool {
	if sameCluster && !methods.Of(e.Carriage.Method).Facts().Separate {
		return e.Gives()
	}
	return e.Parks()
}

// Gives reports whether the effect points a volume at the taker's claim.
func (e Effect) Gives() bool { return e.Carries() && e.Volume.Verb == volumes.Point }

// Object returns the object that the effect writes, as kubectl names it. The Job of a hook has the name of the hook:
// its own is not known before the migration begins.
func (e Effect) Object() string {
	switch kind := e.On(); {
	case e.Carries():
		return string(kind) + "/" + e.Volume.Object()
	case kind == KindJob:
		return string(kind) + "/" + e.Hook.Hook.Name
	case kind == KindWriter:
		return strings.ToLower(e.Writer.Kind) + "/" + e.Name
	case kind == KindCopy:
		return strings.ToLower(e.Kind) + "/" + e.Name
	default:
		return string(kind) + "/" + e.Name
	}
}

// Namespaced reports whether that object has a namespace. A copy counts as one that has.
func (e Effect) Namespaced() bool {
	kind := e.On()
	return kind != volumes.KindVolume && kind != volumes.KindContent && kind != KindNamespace
}

// PersistentVolume returns the volume that the effect concerns. It is empty if there is none, or if the volume does
// not exist yet.
func (e Effect) PersistentVolume() string {
	switch {
	case e.Carries():
		return e.Volume.Volume
	case e.On() == volumes.KindVolume:
		return e.Name
	default:
		return ""
	}
}

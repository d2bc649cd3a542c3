package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// Verb names the write of an effect.
type Verb string

// Verbs of effects. Each is exactly one write to one API server.
const (
	// WriteFence writes this migration's UID and epoch on a StatefulSet.
	WriteFence Verb = "WriteFence"
	// ReleaseFence removes them.
	ReleaseFence Verb = "ReleaseFence"
	// CreateNamespace creates the destination's namespace.
	CreateNamespace Verb = "CreateNamespace"
	// CreateService copies the governing Service.
	CreateService Verb = "CreateService"
	// CreateSet copies the StatefulSet with no replicas.
	CreateSet Verb = "CreateSet"
	// CreateBudget copies the PodDisruptionBudget with maxUnavailable 0.
	CreateBudget Verb = "CreateBudget"
	// SetBudget writes an integer maxUnavailable or minAvailable.
	SetBudget Verb = "SetBudget"
	// RestoreBudget writes the PodDisruptionBudget in its author's form.
	RestoreBudget Verb = "RestoreBudget"
	// SetShare writes the budget share of a StatefulSet of our own kind: see Rolls.
	SetShare Verb = "SetShare"
	// LiftShare removes it.
	LiftShare Verb = "LiftShare"
	// CreateExport creates a ServiceExport for the governing Service.
	CreateExport Verb = "CreateExport"
	// CreatePodService creates the Service of one ordinal's pod; CreatePodExport exports it.
	CreatePodService Verb = "CreatePodService"
	CreatePodExport  Verb = "CreatePodExport"
	// CreateCopy copies a dependency, UpdateCopy updates its copy, and DeleteCopy deletes it.
	CreateCopy Verb = "CreateCopy"
	UpdateCopy Verb = "UpdateCopy"
	DeleteCopy Verb = "DeleteCopy"
	// RunHook creates the Job of a hook, suspended. StartHook resumes it once the Job is recorded.
	RunHook   Verb = "RunHook"
	StartHook Verb = "StartHook"
	// PauseWriter pauses another controller of the source. ReleaseWriter restores its setting, and UnmarkWriter
	// removes the mark that records the pause.
	PauseWriter   Verb = "PauseWriter"
	ReleaseWriter Verb = "ReleaseWriter"
	UnmarkWriter  Verb = "UnmarkWriter"
	// ScaleDown removes the ordinal from the slice; ScaleUp adds it.
	ScaleDown Verb = "ScaleDown"
	ScaleUp   Verb = "ScaleUp"
	// CarryVolume performs one step of package volumes.
	CarryVolume Verb = "CarryVolume"
	// RestorePolicy restores a volume's original reclaim policy.
	RestorePolicy Verb = "RestorePolicy"
	// The delete verbs delete objects that the migration created, or that the user requested to clean up.
	DeleteClaim  Verb = "DeleteClaim"
	DeleteVolume Verb = "DeleteVolume"
	DeleteBudget Verb = "DeleteBudget"
	DeleteExport Verb = "DeleteExport"
	DeleteSet    Verb = "DeleteSet"
	// OrphanSet deletes the StatefulSet and leaves its pods and claims, RecreateSet creates it again with other claim
	// templates, and PokeSet makes its controller reconcile it. UpdateSet writes the claim templates of a set whose kind lets
	// them change.
	OrphanSet   Verb = "OrphanSet"
	RecreateSet Verb = "RecreateSet"
	UpdateSet   Verb = "UpdateSet"
	PokeSet     Verb = "PokeSet"
	// ChangeClaim writes the size and the attributes that a claim requests.
	ChangeClaim Verb = "ChangeClaim"
	// HoldClaim adds the migration's finalizer to the ordinal's claim, EndClaim deletes that claim, and FreeClaim removes
	// the finalizer. EvictPod asks the eviction API to delete the ordinal's pod.
	HoldClaim Verb = "HoldClaim"
	EndClaim  Verb = "EndClaim"
	FreeClaim Verb = "FreeClaim"
	EvictPod  Verb = "EvictPod"
	// MarkPodService and MarkPodExport write the current fence on the Service and the ServiceExport.
	MarkPodService Verb = "MarkPodService"
	MarkPodExport  Verb = "MarkPodExport"
	// DeletePodExport and DeletePodService delete the name of an ordinal.
	DeletePodExport  Verb = "DeletePodExport"
	DeletePodService Verb = "DeletePodService"
)

// Effect is one write. Name, UID and ResourceVersion are those of the object that was judged: the API server
// refuses the write if the object was changed or replaced since.
type Effect struct {
	Verb    Verb     `json:"verb"`
	Side    SideName `json:"side"`
	Ordinal int32    `json:"ordinal"`
	// OneSet is true if both sides are the same StatefulSet, so that no text names one of them.
	OneSet bool   `json:"-"`
	Name   string `json:"name,omitempty"`

	UID             types.UID `json:"-"`
	ResourceVersion string    `json:"-"`
	// Fence is the fence of the epoch in which the write happens, for CreateBudget, SetBudget and the Services and
	// exports of ordinals.
	Fence string `json:"-"`
	// Before and After are the states of a StatefulSet, before the effect and after it. The difference is written.
	// CreateSet has no Before.
	Before SetState `json:"-"`
	After  SetState `json:"-"`
	// MaxUnavailable is how many replicas SetBudget allows to be unavailable.
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`
	// Form is for SetBudget and RestoreBudget. Author, the author's form, is for SetBudget and CreateBudget.
	Form   pdb.Form `json:"-"`
	Author pdb.Form `json:"-"`
	// Volume is for CarryVolume and RestorePolicy, Template and Carriage for CarryVolume.
	Volume   volumes.Action `json:"-"`
	Template string         `json:"template,omitempty"`
	Carriage Carriage       `json:"-"`
	// Kind is the kind of the object of CreateCopy, UpdateCopy and DeleteCopy; Copied describes the content.
	Kind   string `json:"kind,omitempty"`
	Copied Copied `json:"-"`
	// Hook is the run of RunHook and StartHook.
	Hook *HookTurn `json:"-"`
	// Writer is for PauseWriter, ReleaseWriter and UnmarkWriter.
	Writer Pausing `json:"-"`
	// Manifest is the StatefulSet of RecreateSet and UpdateSet in JSON, and the one that follows OrphanSet, Poke the annotation of PokeSet, and Request is for ChangeClaim.
	Manifest string          `json:"-"`
	Poke     string          `json:"-"`
	Request  inplace.Request `json:"-"`
	// Propagation is the deletion propagation policy of DeleteSet.
	Propagation metav1.DeletionPropagation `json:"-"`
}

// Carriage is the state on which a volume's action was decided.
type Carriage struct {
	Method api.VolumeMethod
	// Giver is the side that ordinals leave.
	Giver SideName
	Pair  volumes.Pair
}

// String describes the effect for people.
func (e Effect) String() string {
	on := " on the " + string(e.Side)
	if e.OneSet {
		on = ""
	}
	switch e.Verb {
	case WriteFence, ReleaseFence, CreateSet, SetShare, LiftShare, ScaleDown, ScaleUp, DeleteSet:
		return e.setString(on)
	case OrphanSet, RecreateSet, UpdateSet, PokeSet, ChangeClaim, HoldClaim, EndClaim, FreeClaim, EvictPod:
		return e.inPlaceString()
	case CreateNamespace:
		return "create namespace " + e.Name + on
	case CreateService, CreatePodService:
		return "create Service " + e.Name + on
	case CreateBudget:
		return fmt.Sprintf("create PodDisruptionBudget %s%s with maxUnavailable 0", e.Name, on)
	case SetBudget:
		return fmt.Sprintf("set PodDisruptionBudget %s%s to %s", e.Name, on, e.Form)
	case RestoreBudget:
		return fmt.Sprintf("restore PodDisruptionBudget %s%s in its author's form", e.Name, on)
	case CreateExport, CreatePodExport:
		return "export Service " + e.Name + on
	case MarkPodService:
		return "mark Service " + e.Name + on + " as kept"
	case MarkPodExport:
		return "mark the export of Service " + e.Name + on + " as kept"
	case CarryVolume, RestorePolicy:
		return e.volumeString(on)
	case CreateCopy, UpdateCopy, DeleteCopy:
		return e.copyString(on)
	case RunHook, StartHook:
		return e.hookString(on)
	case PauseWriter, ReleaseWriter, UnmarkWriter:
		return e.writerString(on)
	case DeleteClaim, DeleteVolume, DeleteBudget, DeletePodService, DeleteExport, DeletePodExport:
		return e.deletionString(on)
	}
	return string(e.Verb) + " " + e.Name + on
}

func (e Effect) deletionString(on string) string {
	switch e.Verb {
	case DeleteClaim:
		return "delete claim " + e.Name + on
	case DeleteVolume:
		return "delete volume " + e.Name + on + " (policy Retain: its storage stays)"
	case DeleteBudget:
		return "delete PodDisruptionBudget " + e.Name + on
	case DeletePodService:
		return "delete Service " + e.Name + on
	default:
		return "withdraw the export of Service " + e.Name + on
	}
}

// inPlaceString describes the writes of a migration in place, which has one side.
func (e Effect) inPlaceString() string {
	switch e.Verb {
	case OrphanSet:
		return "delete StatefulSet " + e.Name + ", and keep its pods and claims"
	case RecreateSet:
		return "create StatefulSet " + e.Name + " with the new claim templates"
	case UpdateSet:
		return "write the new claim templates into StatefulSet " + e.Name
	case PokeSet:
		return "annotate StatefulSet " + e.Name + ", so that its controller reconciles it"
	case ChangeClaim:
		return "let claim " + e.Name + " ask for " + e.Request.String()
	case HoldClaim:
		return "add the migration's finalizer to claim " + e.Name
	case EndClaim:
		return "delete claim " + e.Name + ", which that finalizer keeps"
	case FreeClaim:
		return "remove the migration's finalizer from claim " + e.Name
	default:
		return "evict pod " + e.Name
	}
}

func (e Effect) copyString(on string) string {
	shared := e.Kind == "PersistentVolume"
	switch {
	case e.Verb == CreateCopy && shared:
		return fmt.Sprintf("make volume %s on the %s for the storage that all ordinals share (policy Retain)", e.Name, e.Side)
	case e.Verb == DeleteCopy && shared:
		return fmt.Sprintf("delete the copy of volume %s%s (policy Retain: its storage stays)", e.Name, on)
	case e.Verb == CreateCopy:
		return fmt.Sprintf("copy %s %s to the %s", e.Kind, e.Name, e.Side)
	case e.Verb == UpdateCopy:
		return fmt.Sprintf("bring the copy of %s %s%s up to date", e.Kind, e.Name, on)
	default:
		return fmt.Sprintf("delete the copy of %s %s%s", e.Kind, e.Name, on)
	}
}

func (e Effect) hookString(on string) string {
	hook := e.Hook.Hook
	if e.Verb == StartHook {
		return fmt.Sprintf("start Job %s of hook %s%s", e.Name, hook.Name, on)
	}
	if hook.Point.OfOrdinal() {
		return fmt.Sprintf("run hook %s (%s %d)%s", hook.Name, hook.Point, e.Ordinal, on)
	}
	return fmt.Sprintf("run hook %s (%s)%s", hook.Name, hook.Point, on)
}

func (e Effect) writerString(on string) string {
	name := fmt.Sprintf("%s %s/%s%s", e.Writer.Kind, e.Writer.Namespace, e.Name, on)
	switch e.Verb {
	case PauseWriter:
		return "pause " + name
	case ReleaseWriter:
		return "give " + name + " its setting back"
	default:
		return "take the mark off " + name
	}
}

func (e Effect) setString(on string) string {
	switch e.Verb {
	case WriteFence:
		return "claim StatefulSet " + e.Name + on
	case ReleaseFence:
		return "release StatefulSet " + e.Name + on
	case CreateSet:
		return fmt.Sprintf("create StatefulSet %s%s with no replicas", e.Name, on)
	case SetShare:
		return fmt.Sprintf("set the share of the budget of StatefulSet %s%s to %d", e.Name, on, e.After.Share)
	case LiftShare:
		return fmt.Sprintf("lift the share of the budget of StatefulSet %s%s", e.Name, on)
	case ScaleDown:
		return fmt.Sprintf("stop ordinal %d%s: StatefulSet %s becomes [%d,%d)", e.Ordinal, on, e.Name, e.After.Start, e.After.Start+e.After.Replicas)
	case ScaleUp:
		return fmt.Sprintf("start ordinal %d%s: StatefulSet %s becomes [%d,%d)", e.Ordinal, on, e.Name, e.After.Start, e.After.Start+e.After.Replicas)
	default:
		return "delete StatefulSet " + e.Name + on
	}
}

func (e Effect) volumeString(on string) string {
	a := e.Volume
	switch a.Verb {
	case volumes.Restore:
		return fmt.Sprintf("restore the reclaim policy of volume %s%s", a.Volume, on)
	case volumes.Secure:
		return fmt.Sprintf("set volume %s%s to Retain", a.Volume, on)
	case volumes.Park:
		if there := a.After.There; there != a.Before.There {
			return fmt.Sprintf("park volume %s%s; on the other side, where another disk has its name, it is called %s", a.Volume, on, there)
		}
		return fmt.Sprintf("park volume %s%s", a.Volume, on)
	case volumes.Point:
		return fmt.Sprintf("point volume %s%s at claim %s/%s", a.Volume, on, a.Ref.Namespace, a.Ref.Name)
	case volumes.CreateVolume:
		return fmt.Sprintf("create volume %s%s, parked", a.Volume, on)
	case volumes.Release:
		return fmt.Sprintf("point volume %s%s at claim %s/%s, from which it is copied", a.Volume, on, a.Ref.Namespace, a.Ref.Name)
	case volumes.PointBack:
		return fmt.Sprintf("point volume %s%s back at claim %s/%s", a.Volume, on, a.Ref.Namespace, a.Ref.Name)
	case volumes.TakeOver:
		return fmt.Sprintf("point volume %s%s, the sealed copy, at claim %s/%s", a.Volume, on, a.Ref.Namespace, a.Ref.Name)
	case volumes.MarkClaim:
		return fmt.Sprintf("mark claim %s/%s%s, so that the binder looks at it", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.CreateClaim:
		if a.Volume == "" {
			return fmt.Sprintf("create claim %s/%s%s, for a new volume", a.Ref.Namespace, a.Ref.Name, on)
		}
		return fmt.Sprintf("create claim %s/%s%s on volume %s", a.Ref.Namespace, a.Ref.Name, on, a.Volume)
	default:
		return e.bytesString(on)
	}
}

// bytesString describes the actions that only a copy needs.
func (e Effect) bytesString(on string) string {
	a := e.Volume
	switch a.Verb {
	case volumes.CreateIncoming:
		if from := a.Copy.Snapshot.Source; from != "" {
			return fmt.Sprintf("create claim %s/%s%s, from VolumeSnapshot %s", a.Ref.Namespace, a.Ref.Name, on, from)
		}
		return fmt.Sprintf("create claim %s/%s%s, for the copy", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.CreateOutgoing:
		return fmt.Sprintf("create claim %s/%s%s on volume %s, to copy from", a.Ref.Namespace, a.Ref.Name, on, a.Volume)
	case volumes.DeleteLost:
		return fmt.Sprintf("delete claim %s/%s%s, which has no volume any more", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.DeleteDropped:
		return fmt.Sprintf("delete claim %s/%s%s, which was filled for nothing", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.Loosen:
		return fmt.Sprintf("restore the reclaim policy of volume %s%s, which was filled for nothing", a.Volume, on)
	case volumes.CreateEntrance:
		return fmt.Sprintf("create Service %s/%s%s, for the copy", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.ExportEntrance:
		return fmt.Sprintf("export Service %s/%s%s, for the copy", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.DeleteEntrance:
		return fmt.Sprintf("delete Service %s/%s%s, which is not of the type that is asked for", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.CreateMover:
		return fmt.Sprintf("create %s pod %s/%s%s", a.Copy.Role, a.Ref.Namespace, a.Copy.Pod, on)
	case volumes.MarkMover:
		return fmt.Sprintf("write the fence on pod %s/%s%s", a.Ref.Namespace, a.Copy.Pod, on)
	case volumes.TellMover:
		return fmt.Sprintf("give %s pod %s/%s%s the key of its peer", a.Copy.Role, a.Ref.Namespace, a.Copy.Pod, on)
	case volumes.DeleteMover:
		return fmt.Sprintf("delete %s pod %s/%s%s", a.Copy.Role, a.Ref.Namespace, a.Copy.Pod, on)
	default:
		return e.snapshotString(on)
	}
}

// snapshotString describes the actions that only a snapshot needs.
func (e Effect) snapshotString(on string) string {
	a := e.Volume
	switch a.Verb {
	case volumes.CreateSnapshot:
		return fmt.Sprintf("take VolumeSnapshot %s/%s%s of claim %s", a.Ref.Namespace, a.Ref.Name, on, a.Copy.Snapshot.Claim)
	case volumes.RetainContent:
		return fmt.Sprintf("set VolumeSnapshotContent %s%s to Retain", a.Ref.Name, on)
	case volumes.LoosenContent:
		return fmt.Sprintf("restore the deletion policy of VolumeSnapshotContent %s%s", a.Ref.Name, on)
	case volumes.CreateContent:
		return fmt.Sprintf("create VolumeSnapshotContent %s%s for that snapshot", a.Ref.Name, on)
	case volumes.CreateImport:
		return fmt.Sprintf("create VolumeSnapshot %s/%s%s on that content", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.DeleteSnapshot:
		return fmt.Sprintf("delete VolumeSnapshot %s/%s%s", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.DeleteContent:
		return fmt.Sprintf("delete VolumeSnapshotContent %s%s", a.Ref.Name, on)
	case volumes.TakeBase:
		return fmt.Sprintf("take VolumeSnapshot %s/%s%s of claim %s, to copy from while the ordinal runs", a.Ref.Namespace, a.Ref.Name, on, a.Copy.Snapshot.Claim)
	case volumes.RestoreBase:
		return fmt.Sprintf("create claim %s/%s%s, from VolumeSnapshot %s", a.Ref.Namespace, a.Ref.Name, on, a.Copy.Snapshot.Source)
	case volumes.DropBase:
		return fmt.Sprintf("delete claim %s/%s%s, which was copied from", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.DropBaseSnapshot:
		return fmt.Sprintf("delete VolumeSnapshot %s/%s%s", a.Ref.Namespace, a.Ref.Name, on)
	case volumes.DeleteUnfilled:
		return fmt.Sprintf("delete claim %s/%s%s, which has no volume yet", a.Ref.Namespace, a.Ref.Name, on)
	default:
		return string(a.Verb) + " " + a.Volume + on
	}
}

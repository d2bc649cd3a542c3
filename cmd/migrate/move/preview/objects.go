package preview

import (
	"strings"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// The kinds of objects, as kubectl names them.
const (
	kindVolume   = "persistentvolume"
	kindClaim    = "persistentvolumeclaim"
	kindPod      = "pod"
	kindService  = "service"
	kindExport   = "serviceexport"
	kindSnapshot = "volumesnapshot"
	kindContent  = "volumesnapshotcontent"
)

// kinds are those of the objects that writes change, other than StatefulSets and what volumes are carried with.
var kinds = map[plan.Verb]string{
	plan.CreateNamespace: "namespace", plan.CreateService: kindService,
	plan.CreateBudget: "poddisruptionbudget", plan.SetBudget: "poddisruptionbudget",
	plan.RestoreBudget: "poddisruptionbudget", plan.DeleteBudget: "poddisruptionbudget",
	plan.CreateExport: kindExport, plan.DeleteExport: kindExport,
	plan.CreatePodExport: kindExport, plan.MarkPodExport: kindExport, plan.DeletePodExport: kindExport,
	plan.CreatePodService: kindService, plan.MarkPodService: kindService, plan.DeletePodService: kindService,
	plan.RestorePolicy: kindVolume, plan.DeleteVolume: kindVolume, plan.DeleteClaim: kindClaim,
}

// carrying are the kinds of what is written to carry a volume, other than the volume itself.
var carrying = map[volumes.Verb]string{
	volumes.CreateClaim: kindClaim, volumes.MarkClaim: kindClaim, volumes.CreateIncoming: kindClaim, volumes.CreateOutgoing: kindClaim,
	volumes.DeleteLost: kindClaim, volumes.DeleteDropped: kindClaim, volumes.DeleteUnfilled: kindClaim,
	volumes.RestoreBase: kindClaim, volumes.DropBase: kindClaim,
	volumes.CreateMover: kindPod, volumes.MarkMover: kindPod, volumes.TellMover: kindPod, volumes.DeleteMover: kindPod,
	volumes.CreateEntrance: kindService, volumes.DeleteEntrance: kindService, volumes.ExportEntrance: kindExport,
	volumes.CreateSnapshot: kindSnapshot, volumes.CreateImport: kindSnapshot, volumes.DeleteSnapshot: kindSnapshot,
	volumes.TakeBase: kindSnapshot, volumes.DropBaseSnapshot: kindSnapshot,
	volumes.RetainContent: kindContent, volumes.LoosenContent: kindContent, volumes.CreateContent: kindContent, volumes.DeleteContent: kindContent,
}

// ObjectOf names the object that a write changes.
func ObjectOf(e plan.Effect) string {
	if e.Verb == plan.CarryVolume {
		return carriedObject(e.Volume)
	}
	kind, known := kinds[e.Verb]
	switch {
	case e.Hook != nil: // the name of its Job is not known before the migration begins
		return "job/" + e.Hook.Hook.Name
	case e.Writer.Kind != "":
		kind = strings.ToLower(e.Writer.Kind)
	case e.Kind != "":
		kind = strings.ToLower(e.Kind)
	case !known:
		kind = "statefulset"
	}
	return kind + "/" + e.Name
}

func carriedObject(a volumes.Action) string {
	switch kind := carrying[a.Verb]; kind {
	case "":
		return kindVolume + "/" + a.Volume
	case kindPod:
		return kind + "/" + a.Copy.Pod
	default:
		return kind + "/" + a.Ref.Name
	}
}

// VolumeOf names the PersistentVolume that a write is about; empty: it is about none, or about one that is not there yet.
func VolumeOf(e plan.Effect) string {
	switch e.Verb {
	case plan.CarryVolume:
		return e.Volume.Volume
	case plan.RestorePolicy, plan.DeleteVolume:
		return e.Name
	default:
		return ""
	}
}

// Brief is what a write does with the claim template for the name of the volume: that is long, and says little.
func Brief(action, volume, template string) string {
	if volume == "" || template == "" {
		return action
	}
	return strings.ReplaceAll(action, "volume "+volume, "volume "+template)
}

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

// kinds maps verbs to the kinds of objects that they change, except StatefulSets and objects that carry volumes.
var kinds = map[plan.Verb]string{
	plan.CreateNamespace: "namespace", plan.CreateService: kindService,
	plan.CreateBudget: "poddisruptionbudget", plan.SetBudget: "poddisruptionbudget",
	plan.RestoreBudget: "poddisruptionbudget", plan.DeleteBudget: "poddisruptionbudget",
	plan.CreateExport: kindExport, plan.DeleteExport: kindExport,
	plan.CreatePodExport: kindExport, plan.MarkPodExport: kindExport, plan.DeletePodExport: kindExport,
	plan.CreatePodService: kindService, plan.MarkPodService: kindService, plan.DeletePodService: kindService,
	plan.RestorePolicy: kindVolume, plan.DeleteVolume: kindVolume, plan.DeleteClaim: kindClaim,
}

// carrying maps verbs to the kinds of objects that carry a volume, except the volume itself.
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

// ObjectOf returns the name of the object that a write changes.
func ObjectOf(e plan.Effect) string {
	if e.Verb == plan.CarryVolume {
		return carriedObject(e.Volume)
	}
	kind, known := kinds[e.Verb]
	switch {
	case e.Hook != nil: // the name of its Job is unknown before the migration begins
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

// VolumeOf returns the PersistentVolume that a write concerns. It is empty if there is none, or if the volume does not
// exist yet.
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

// Brief replaces the name of the volume in an action by the claim template, which is shorter and more meaningful.
func Brief(action, volume, template string) string {
	if volume == "" || template == "" {
		return action
	}
	return strings.ReplaceAll(action, "volume "+volume, "volume "+template)
}

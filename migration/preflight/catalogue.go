package preflight

import (
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// Group is a category of checks, as shown to users.
type Group string

// The groups, in display order.
const (
	GroupAccess      Group = "clusters and rights"
	GroupSource      Group = "source"
	GroupWriters     Group = "owners and writers"
	GroupBudget      Group = "disruption budget"
	GroupDestination Group = "destination"
	GroupPods        Group = "pods at the destination"
	GroupVolumes     Group = "volumes"
	GroupNames       Group = "names"
	GroupInPlace     Group = "storage in place"
	GroupOther       Group = "other"
)

var groups = []Group{GroupAccess, GroupSource, GroupWriters, GroupBudget, GroupDestination, GroupPods, GroupVolumes, GroupNames, GroupInPlace, GroupOther}

// Names of checks that run before any check of the registry.
const (
	checkKinds  = "kinds"
	checkRights = "rights"
)

// foundations lists the checks that run first. If one of them fails, no other check can run.
var foundations = []string{checkKinds, checkRights, plan.CheckOrdinals}

// others lists the checks that are not in the registry: those that run before it, and those of a snapshot, which
// package planner runs.
var others = []Check{
	{
		Name: checkKinds, Group: GroupAccess,
		Looks:  "at whether both clusters serve the kind of the source's StatefulSet.",
		Why:    "A cluster that does not serve this kind cannot store the StatefulSet.",
		Remedy: "Install the resource definition and the manager there, or move to apps/v1.",
	},
	{
		Name: checkRights, Group: GroupAccess,
		Looks:  "at every right that the move needs, on both sides.",
		Why:    "If one is missing, the move stops in the middle.",
		Remedy: "Bind the ClusterRoles sliceshift-mover and sliceshift-mover-cluster to the identity that the finding names.",
	},
	{
		Name: plan.CheckOrdinals, Group: GroupSource,
		Looks:  "at the numbers of ordinals and claims on each side.",
		Why:    "With implausible numbers the move would never finish counting.",
		Remedy: "Correct replicas and spec.ordinals.start.",
	},
	{
		Name: plan.CheckSource, Group: GroupSource,
		Looks:  "at the source: that it exists, is not being deleted, is not in the middle of a roll-out, keeps its claims, and that every replica is available.",
		Why:    "If a replica is already unavailable, moving another one exceeds the budget.",
		Remedy: "Wait for the roll-out, and fix the pods that the finding names.",
	},
	{
		Name: plan.CheckBudget, Group: GroupBudget,
		Looks:  "at the PodDisruptionBudgets on each side: that there is at most one, which selects only the application's pods, and that it allows a replica to be unavailable.",
		Why:    "A budget that other pods use too, or that allows no disruption, cannot be split between two slices.",
		Remedy: "Leave one PodDisruptionBudget, for these pods, with maxUnavailable of 1 or more.",
	},
	{
		Name: plan.CheckForm, Group: GroupBudget,
		Looks:  "at the form of the PodDisruptionBudgets: a percentage that is rounded up, and whether source and destination use the same unhealthyPodEvictionPolicy.",
		Why:    "A rounded percentage may allow more pods to be down than expected, and a drain may treat unhealthy pods differently on each side.",
		Remedy: "Set the budget of the move as a number, and give both the same policy.",
	},
	{
		Name: plan.CheckInFlight, Group: GroupBudget,
		Looks:  "at spec.handoff.maxInFlight, if it asks for more than one ordinal at once: whether the disruption budget covers them, and whether the volumes, gates and hooks allow it.",
		Why:    "Each ordinal in flight counts as unavailable.",
		Remedy: "Lower maxInFlight, or raise the budget.",
	},
	{
		Name: plan.CheckDestination, Group: GroupDestination,
		Looks:  "at the destination: its namespace, a StatefulSet that exists there and its owner, and pods with the names of ordinals.",
		Why:    "Foreign objects with the name of an ordinal would be mistaken for it.",
		Remedy: "Create the namespace, and remove or rename the conflicting objects.",
	},
	{
		Name: plan.CheckSplit, Group: GroupDestination,
		Looks:  "at the ordinals that the destination already has: whether the two slices are adjacent.",
		Why:    "An ordinal would run twice, or belong to neither slice.",
		Remedy: "Scale the destination to the slice that is adjacent to the source's, or to 0.",
	},
	{
		Name: plan.CheckVolumes, Group: GroupVolumes,
		Looks:  "at the claims and volumes of every ordinal to be moved, on both sides.",
		Why:    "An ordinal would start on another disk, or on none.",
		Remedy: "Bind the claims of the source, and remove foreign claims and volumes at the destination.",
	},
	{
		Name: plan.CheckStorage, Group: GroupInPlace, InPlace: true,
		Looks:  "of a migration with spec.storage: at the claim templates that change, the owner and the retention policies of the StatefulSet, and the claims: whether they are bound, have an owner, are used by other pods, or allow one pod only.",
		Why:    "A claim could not be replaced under its own name, or would be deleted with its data.",
		Remedy: "Follow the finding: correct spec.volumes, set the retention policy to Retain, or end the other pod.",
	},
	{
		Name: plan.CheckServices, Group: GroupNames,
		Looks:  "for Services with the names of ordinals, if spec.services gives each ordinal a name for all clusters.",
		Why:    "A foreign Service would be overwritten, or lead elsewhere.",
		Remedy: "Rename the Service, or set spec.services.perOrdinal to None.",
	},
	{
		Name: plan.CheckCopies, Group: GroupPods,
		Looks:  "at the dependencies of the pods to be copied, on both sides: whether they exist at the source, whether the destination serves their kinds and has other objects with their names, and whether they select other pods.",
		Why:    "Moved ordinals would use other objects than the rest, or a copy would affect other pods.",
		Remedy: "Make both sides equal, or set spec.dependencies.onConflict or selectsOthers.",
	},
	{
		Name: plan.CheckWriters, Group: GroupWriters,
		Looks:  "at the other writers of the source, if the migration pauses them: whether they can be read, and whether another migration has paused one.",
		Why:    "A writer that is not paused restores replicas during the move, and a writer paused for another migration does so when that ends.",
		Remedy: "Bind the ClusterRole sliceshift-mover-writers in the namespace of each writer, or wait for the other migration.",
	},
	{
		Name: plan.CheckSchedule, Group: GroupOther,
		Looks:  "at the windows of spec.schedule: whether they are valid, whether any will open again, and whether one is long enough for a handoff.",
		Why:    "The move would begin, and no ordinal would ever be moved.",
		Remedy: "Correct the window, the time zone, or notBefore and notAfter; set expectedHandoffSeconds to the duration of a handoff.",
	},
}

// Catalogue returns all checks by group, each group in the order of execution.
func Catalogue() []Check {
	var all []Check
	for _, group := range groups {
		for _, check := range slices.Concat(others, checks) {
			if check.group() == group {
				all = append(all, check)
			}
		}
	}
	return all
}

func (c Check) group() Group {
	if !slices.Contains(groups, c.Group) {
		return GroupOther
	}
	return c.Group
}

// Docs returns the link to the documentation of the check and of its remedies.
func (c Check) Docs() string {
	return "docs/preflight.md#" + strings.ReplaceAll(strings.ToLower(c.Name), " ", "-")
}

package slices

import (
	"testing"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

// onKind are the cases that make e2e-kind runs again with real kubelets.
var onKind = []string{
	"TestIdentity", "TestScale", "TestReplaced", "TestRollingUpdate", "TestPartition", "TestWindow", "TestOvertaken", "TestMadeAnewInMidRollout", "TestNoHistory", "TestOnDelete", "TestRecreate", "TestBudget",
	"TestStuckRollout", "TestPaused", "TestTerminationReason", "TestAdoption", "TestDeletion", "TestDeletionIsTold", "TestNobodyWaits",
	"TestStartOrdinal", "TestPhases", "TestRevisions", "TestSurge", "TestSurgeClaims",
	"TestQuota", "TestRangeUnderQuota", "TestRefusedTemplate", "TestTerminating", "TestOrphans", "TestDeletedSetAdoptsNothing", "TestOverlap", "TestCollision",
	"TestPreDelete", "TestPreDeleteFinalizer", "TestInPlaceHook", "TestSpecifiedDelete", "TestPausedHeals", "TestTerminationGrace",
	"TestUnorderedUpdate", "TestReserveOrdinals",
	"TestBudgets", "TestEvictions", "TestOneBudgetForTwo", "TestHorizontalPodAutoscaler", "TestBadAutoscaler", "TestScaleSubresource",
	"TestWhenDeleted", "TestWhenScaled", "TestClaimOwners", "TestAdoptedClaims", "TestClaimsOfFormerPods", "TestReservedClaims",
	"TestInPlaceMetadata", "TestInPlaceGrace", "TestInPlaceStuck", "TestInPlaceOnly", "TestQoSChange", "TestLongNames",
	"TestConditionsOfClients", "TestBudgetOverSeveralSets", "TestBudgetOfZero", "TestBudgetTwoOfOnePod", "TestBudgetSpecifiedDelete", "TestBudgetDuringMigration",
	"TestInPlaceTakenBack", "TestInPlaceVariable", "TestInPlaceRestart", "TestResizeInfeasible", "TestResizeMadeAnew",
}

// embeddedOnly are the other cases, each with the reason.
var embeddedOnly = map[string]string{
	"TestInPlace":             slowPulls,
	"TestInPlaceResumes":      slowPulls,
	"TestInPlaceResize":       "it plays the kubelet's part of a resize; a real one does in TestInPlaceResources of e2e/kind/suite",
	"TestLostClaim":           slowStarts,
	"TestPodsToCome":          slowStarts,
	"TestUnhealthyEvictions":  slowStarts,
	"TestY2UnhealthyPodsStay": slowStarts, "TestY2UnhealthyPodsStayAsNative": slowStarts, "TestY2AlwaysAllow": slowStarts, "TestY2ShareOfNothing": slowStarts, "TestY2NeverAvailable": slowStarts,
	"TestDeadline":            slowStarts,
	"TestRecreateIsTakenBack": slowStarts,
	"TestScaleStrategy":       slowStarts,
	"TestGrowth":              noGrowth,
	"TestGrowthOnDelete":      noGrowth,
	"TestClaimsBehind":        "its classes are of the provisioner of the embedded clusters",
	"TestGrowthRefused":       noGrowth,
	"TestGrowthPartition":     noGrowth,
	"TestGrowthOfSome":        noGrowth,
	"TestGrowthOfDisks":       "the disks are loop devices of the machine of the tests",
	"TestKilled":              manyRuns,
	"TestSoak":                manyRuns,
	"TestAdmissions":          manyRuns,
	"TestSameManifestAgain":   nothingRuns, "TestCollection": nothingRuns, "TestStatusIsWritten": nothingRuns, "TestBudgetCountsByScale": nothingRuns,
	"TestInPlaceUnseen":              "it needs a kubelet that does not see a change for a while",
	"TestResizeDeferred":             "it needs a node that has room later",
	"TestGrowthAlone":                noGrowth,
	"TestY10AdoptedClaimsGrowInTurn": noGrowth,
	"TestY1TextAfterEveryForm":       nothingRuns, "TestY1TypedClient": nothingRuns, "TestY1GrowthInOtherUnits": nothingRuns,
	"TestY1Y9AdoptThenApply": ownProgram, "TestY9OthersKeepTheirFields": ownProgram,
	"TestUnboundClaim":     noGrowth,
	"TestPrePull":          "it looks at what pulls images, which is over on a real node as soon as the image is there",
	"TestDuel":             manyRuns,
	"TestDefaultsAsNative": nothingRuns, "TestDefaults": nothingRuns, "TestEveryValueAsNative": nothingRuns, "TestManyValuesAsNative": nothingRuns,
	"TestUpdatesAsNative": nothingRuns, "TestStatusAsNative": nothingRuns, "TestRefused": nothingRuns, "TestAccepted": nothingRuns,
	"TestImmutable": nothingRuns, "TestPartitionIsLeftAlone": nothingRuns, "TestStatusRules": nothingRuns, "TestSpecHasTheGeneration": nothingRuns, "TestPace": nothingRuns, "TestOneControllerForEach": manyRuns,
	"TestScaleTogether": nothingRuns, "TestDiscovery": nothingRuns, "TestDeletionIsInTheBackground": nothingRuns, "TestOldObjectsAreTolerated": nothingRuns,
	"TestEveryCaseHasItsGround": nothingRuns,
	"TestKubectlWait":           slowStarts,
	"TestRevisionInputs":        simulated, "TestRevisionInputsRollback": slowStarts, "TestRevisionInputsMissing": simulated, "TestRevisionInputsTaken": simulated,
	"TestRevisionInputsInPlace": simulated, "TestRevisionInputsOrphans": simulated, "TestRevisionInputsRules": nothingRuns, "TestRevisionInputsAsNative": nothingRuns,
	"TestBudgetUnhealthy": slowStarts,
	"TestTopologyKey":     ownNodes, "TestTopologyKeySurge": ownNodes, "TestTopologyKeyUnlabeled": ownNodes, "TestTopologyKeyWithBudget": ownNodes, "TestTopologyKeyStuck": ownNodes,
	"TestHealthCheck": slowStarts,
}

const (
	slowPulls   = "it needs a kubelet that goes on with the former image for a while"
	slowStarts  = "it plays the kubelet of a pod that never becomes Ready, and then does"
	noGrowth    = "no storage driver there can make a volume larger"
	manyRuns    = "hundreds of pods, and controllers that are killed: the kubelets have no part in it"
	simulated   = "it reads references of pods and objects, which a kubelet does not change"
	nothingRuns = "it asks the API server, and runs nothing"
	ownNodes    = "it adds nodes in several zones, and only the embedded cluster can have more nodes"
	ownProgram  = "it runs the command with the kubeconfig of the embedded cluster; TestAdoptCommand of e2e/move runs it on kind"
)

// TestEveryCaseHasItsGround: every case is either listed to run on kind, or has a reason why not.
func TestEveryCaseHasItsGround(t *testing.T) { harness.CheckCases(t, onKind, embeddedOnly) }

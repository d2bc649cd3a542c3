package duel

// staged are the scripts that every run begins with: each comes upon one of the differences on
// purpose, so that none of them is explained and never seen.
var staged = []Script{
	{Name: "broken", Settings: Settings{Replicas: 3}, Steps: []Step{{Kind: stepBroken}, {Kind: stepImage}}},
	{Name: "ends-twice", Settings: Settings{Replicas: 2, Parallel: true}, Steps: []Step{{Kind: stepFail}, {Kind: stepFail}, {Kind: stepSucceed, A: 1}}},
	{Name: "unbound", Settings: Settings{Replicas: 3, Claims: 1}, Steps: []Step{
		{Kind: stepUnbound}, {Kind: stepReplicas, A: 5}, {Kind: stepImage}, {Kind: stepBound},
	}},
	{Name: "percent", Settings: Settings{Replicas: 6}, Steps: []Step{{Kind: stepMaxUnavailable, A: 1}, {Kind: stepImage}}},
	{Name: "percent-broken", Settings: Settings{Replicas: 6, Parallel: true}, Steps: []Step{{Kind: stepMaxUnavailable, A: 1}, {Kind: stepBroken}, {Kind: stepImage}}},
	{Name: "batch", Settings: Settings{Replicas: 4}, Steps: []Step{
		{Kind: stepMaxUnavailable, A: 1, B: 3}, {Kind: stepDeleteHeld, A: 1}, {Kind: stepImage}, {Kind: stepLetGo},
	}},
	{Name: "ended", Settings: Settings{Replicas: 4}, Steps: []Step{{Kind: stepUnready}, {Kind: stepFail, A: 2}, {Kind: stepReady}}},
	{Name: "repairs", Settings: Settings{Replicas: 4, Claims: 1}, Steps: []Step{
		{Kind: stepUnready}, {Kind: stepUnname, A: 2}, {Kind: stepRetention, A: 1, B: 1}, {Kind: stepReady}, {Kind: stepReplicas, A: 2},
	}},
	{Name: "leaves", Settings: Settings{Replicas: 4}, Steps: []Step{
		{Kind: stepUnready, A: 2}, {Kind: stepUnready, A: 3}, {Kind: stepStrategy}, {Kind: stepImage}, {Kind: stepReplicas, A: 2}, {Kind: stepReady},
	}},
	{Name: "refused", Settings: Settings{Replicas: 5, Parallel: true}, Steps: []Step{
		{Kind: stepMaxUnavailable, A: 1, B: 3}, {Kind: stepRefusePods}, {Kind: stepDelete}, {Kind: stepImage}, {Kind: stepAllow},
	}},
	{Name: "name-taken", Settings: Settings{Replicas: 3, Parallel: true}, Steps: []Step{{Kind: stepRelease}, {Kind: stepUnname, A: 1}}},
	{Name: "on-delete", Settings: Settings{Replicas: 2}, Steps: []Step{
		{Kind: stepStrategy}, {Kind: stepImage}, {Kind: stepDelete}, {Kind: stepDelete, A: 1}, {Kind: stepImage}, {Kind: stepStrategy, A: 1},
	}},
	{Name: "terminating-claims", Settings: Settings{Replicas: 3, Claims: 1, Parallel: true}, Steps: []Step{
		{Kind: stepRetention, A: 1}, {Kind: stepDeleteHeld, A: 2}, {Kind: stepReplicas, A: 2}, {Kind: stepLetGo},
	}},
	{Name: "claim-gone", Settings: Settings{Replicas: 2, Claims: 2}, Steps: []Step{{Kind: stepClaimGone, A: 1}, {Kind: stepDelete, A: 1}}},
}

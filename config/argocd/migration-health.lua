-- The health of a Migration for Argo CD. A Migration is Healthy only once every ordinal that was asked for runs at the destination:
-- what comes in later sync waves, such as the removal of the old cluster, waits for that.
local hs = { status = "Progressing", message = "waiting for the manager to look at it" }
local status = obj.status
if obj.metadata.deletionTimestamp ~= nil then
  hs.message = "it is being deleted"
  return hs
end
if status == nil or status.conditions == nil or status.observedGeneration ~= obj.metadata.generation then
  return hs
end
local conditions = {}
for _, condition in ipairs(status.conditions) do
  conditions[condition.type] = condition
end
local function holds(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end
if status.now ~= nil then
  hs.message = status.now
end
if holds("Ready") then
  hs.status = "Healthy"
elseif holds("Completed") then
  hs.status = "Degraded"
elseif holds("Stalled") then
  hs.status = "Degraded"
  hs.message = conditions["Stalled"].message
elseif status.state == "Paused" then
  hs.status = "Suspended"
end
return hs

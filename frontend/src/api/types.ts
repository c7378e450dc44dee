/**
 * Names for the shapes of `/api/v1`, all taken from the schema that `npm run api` generates: times are RFC 3339 UTC
 * strings, sizes are bytes, `*_us` are microseconds. Only what sockets carry is written by hand.
 */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Session = Schemas["Session"];
export type Role = Schemas["RoleEnum"];
export type ProjectRole = Schemas["ProjectRoleEnum"];
export type Project = Schemas["Project"];
export type ProjectNew = Schemas["ProjectInputRequest"];
export type ProjectChange = Schemas["PatchedProjectPatchRequest"];
export type Member = Schemas["Member"];
export type ApiToken = Schemas["Token"];
export type Permission = Schemas["PermissionsEnum"];
export type Scope = Schemas["ScopesEnum"];
export type BrowserSession = Schemas["BrowserSession"];
export type ServiceAccount = Schemas["ServiceAccount"];
export type Person = Schemas["User"];
export type InstanceType = Schemas["InstanceType"];
export type InstanceTypeInput = Schemas["InstanceTypeInputRequest"];
export type System = Schemas["System"];
export type SystemPart = Schemas["SystemPart"];
export type SystemState = Schemas["SystemStateEnum"];
export type DrainMove = Schemas["Move"];

export type Tensor = Schemas["TensorSpec"];
export type Dim = Tensor["shape"][number] | string;
export type InspectedModel = Schemas["InspectedModel"];
export type ConfigProblem = Schemas["ConfigProblem"];
export type ValidateRequest = Schemas["ConfigValidateInputRequest"];

export type ManifestFile = Schemas["FileEntry"];
export type Upload = Schemas["Upload"];
/** Where a model comes from: what its import found, and what somebody stated. */
export type Lineage = Schemas["Lineage"];
export type LineageStated = Schemas["LineageRequest"];
export type RepoModel = Schemas["RepoModel"];
export type ConfigRevision = Schemas["ConfigRevision"];
export type Model = Schemas["Model"];
export type ModelVersion = Schemas["ModelVersion"];
/** Whether it brings code that nodes would run, and whether that may run here. */
export type Code = Schemas["Code"];
export type Environment = Schemas["Environment"];
export type Signatures = Schemas["Signatures"];
export type Usage = Schemas["Usage"];
export type ModelCreate = Schemas["ModelInputRequest"];

export type Replica = Schemas["Replica"];
export type Deployment = Schemas["Deployment"];
export type AutoscalePolicy = Schemas["AutoscalePolicy"];
export type PolicyRequest = Schemas["AutoscalePolicyRequest"];
export type AutoscalePreview = Schemas["AutoscalePreview"];
export type DeploymentRevision = Schemas["DeploymentRevision"];
export type Endpoint = Schemas["Endpoint"];
export type EndpointKeys = Schemas["EndpointKeys"];
export type DeployRequest = Schemas["DeployInputRequest"];
export type DeployResult = Schemas["DeployResult"];
export type Snippets = Schemas["Snippets"];
export type LogLine = Schemas["LogLine"];
export type MetricColumns = Schemas["Series"];

/** Why something failed: what happened, the verbatim reason, what to try. */
export type ErrorDetail = Pick<Schemas["Problem"], "code" | "message"> & { detail?: string | null; hints?: string[] };

export type StepStatus = Schemas["Stage"]["status"] | Schemas["UploadStep"]["status"] | "skipped";
export type Operation = Schemas["Operation"];
export type TrafficRule = Schemas["TrafficRuleRequest"];
export type Sticky = Schemas["StickyRequest"];
export type ComparedDiffering = Schemas["ComparedDiffering"];
export type ComparedMissing = Schemas["ComparedMissing"];
export type ComparedOutput = Schemas["ComparedOutput"];
export type ComparedSource = Schemas["ComparedSource"];
export type Experiment = Schemas["Experiment"];
export type ExperimentAnswers = Schemas["ExperimentAnswers"];
export type ExperimentAnswersInput = Schemas["ExperimentAnswersInputRequest"];
export type TrafficChange = Schemas["TrafficChange"];
export type TrafficWatch = Schemas["TrafficWatch"];
export type ExperimentArm = Schemas["ExperimentArm"];
export type ExperimentDifference = Schemas["ExperimentDifference"];

export type LoadSweep = Schemas["LoadSweep"];
export type LoadSweepPoint = Schemas["LoadSweepPoint"];
export type LoadSweepSummary = Schemas["LoadSweepSummary"];
export type LoadSweepInput = Schemas["LoadSweepInputRequest"];
export type Tuning = Schemas["Tuning"];
export type TuningInput = Schemas["TuningInputRequest"];
export type TuningRun = Schemas["TuningRun"];
export type TuningSetting = Schemas["TuningSetting"];
export type TuningSummary = Schemas["TuningSummary"];
export type Bottlenecks = Schemas["Bottlenecks"];
export type BottleneckPart = Schemas["Part"];
export type Pipeline = Schemas["Pipeline"];
export type StepFigures = Schemas["Step"];
export type ModelCalls = Schemas["ModelCalls"];
export type RepoModelConfig = Schemas["RepoModelConfig"];
export type BottleneckFinding = Schemas["Finding"];
export type Capacity = Schemas["Capacity"];
export type CapacityNode = Schemas["CapacityNode"];
export type CapacityDeployment = Schemas["CapacityDeployment"];
export type CapacityAmount = Schemas["Amount"];
export type WasteItem = Schemas["WasteItem"];
export type Room = Schemas["Room"];
export type WhatIf = Schemas["WhatIf"];
export type Prices = Schemas["Prices"];
export type SeenRequest = Schemas["SeenRequest"];
export type RequestStory = Schemas["RequestStory"];
export type RequestBar = Schemas["RequestBar"];
export type ModelSpan = Schemas["ModelSpan"];
export type Rollout = Schemas["Rollout"];
export type RolloutInput = Schemas["RolloutInputRequest"];
export type RolloutFigure = Schemas["RolloutFigure"];
export type RolloutDifference = Schemas["RolloutDifference"];
export type Objective = Schemas["Objective"];
export type CaptureFeature = Schemas["CaptureFeature"];
export type CaptureStatistics = Schemas["CaptureStatistics"];
export type CapturedFile = Schemas["CapturedFile"];
export type ObjectiveInput = Schemas["ObjectiveInputRequest"];
export type ObjectiveHistory = Schemas["ObjectiveHistory"];
export type Alert = Schemas["Alert"];
export type AlertRule = Schemas["AlertRule"];
export type AlertThreshold = Schemas["AlertThreshold"];
export type ThresholdKind = AlertRule["kinds"][number];
export type AlertRuleChange = Schemas["PatchedAlertRuleChangeRequest"];
export type Silence = Schemas["Silence"];
export type SilenceInput = Schemas["SilenceInputRequest"];
export type Channel = Schemas["Channel"];
export type ChannelInput = Schemas["ChannelInputRequest"];
export type Delivery = Schemas["Delivery"];
export type EventItem = Schemas["Event"];
export type EventPage = Schemas["EventPage"];
export type Gpu = Schemas["Gpu"];
export type CachedBlob = Schemas["CachedBlob"];
export type NodeInfo = Schemas["NodeInfo"];
export type NodeItem = Schemas["Node"];
export type JoinToken = Schemas["JoinToken"];
export type JoinTokenMade = Schemas["NewJoinToken"];
export type AttentionItem = Schemas["Attention"];
export type Overview = Schemas["Overview"];

export type TestCase = Schemas["TestCase"];
export type TestCaseSummary = Schemas["TestCaseSummary"];
export type TestOutcome = Schemas["TestOutcome"];
export type TestCaseInput = Schemas["TestCaseInputRequest"];

/** A model as the test console's socket describes it. */
export interface ConsoleModel {
  name: string;
  versions: (number | string)[];
  max_batch_size: number;
  /** Answers any number of times. */
  decoupled?: boolean;
  /** What names a sequence, for models that keep state between calls. */
  sequence?: "number" | "text" | null;
  /** Warm-up requests of the configuration that the page can make itself. */
  warmup?: WarmupSample[];
  inputs: Tensor[];
  outputs: Tensor[];
  labels?: Record<string, string[]> | null;
}

interface WarmupSample {
  name: string;
  batch_size: number;
  inputs: Record<string, { shape: number[]; kind: "zeros" | "random" }>;
}

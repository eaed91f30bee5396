# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models of every family with every head, for scripts/random-folder and scripts/published. FAMILIES maps a model_type to a
function from a Choice to (model, inputs, results); its attribute `heads` lists the heads that the family has."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../test/data/folders"))
import make
import numpy
import plain
import transformers as hf


def randomised(model, seed):
    """Weights under which rows keep their size from layer to layer, as those of trained models do, whatever the sizes. They are numbers
    that bf16 has, as in published checkpoints: a model of 18 features may answer a table that is rounded first by 2e-2 of its largest logit."""
    generator = make.torch.Generator().manual_seed(seed)
    for name, value in model.named_parameters():
        noise = make.torch.randn(value.shape, generator=generator)
        if not value.requires_grad:  # sinusoidal positions stay as they are
            continue
        norm = "norm" in name.lower() and value.dim() == 1 and name.endswith("weight")
        with make.torch.no_grad():
            made = make.norms_around(model) + 0.2 * noise if norm else noise * (0.2 if value.dim() == 1 else scale_of(value.shape))
            value.copy_(made.bfloat16())
    return model.eval()


def scale_of(shape):
    return min(0.25, float(numpy.prod(shape[1:])) ** -0.5)


make.randomised = randomised
plain.Tensors.scale_of = staticmethod(scale_of)


class Choice:
    """Sizes of one model, and its head, where one is asked for."""

    def __init__(self, seed, head=None):
        self.random, self.head_name = random.Random(seed), head
        self.heads = self.random.randint(1, 5)
        self.head = 2 * self.random.randint(2, 11)
        self.size = self.heads * self.head
        self.layers = self.random.randint(1, 3)
        self.ffn = self.random.randint(9, 90)
        self.vocabulary = self.random.randint(31, 120)
        self.classes = self.random.randint(1, 6)
        self.positions = max(make.LENGTHS) + self.random.randint(2, 9)
        self.norm = self.random.choice([1e-12, 1e-6, 1e-5])

    def of(self, *values):
        return self.random.choice(values)

    def head_of(self, heads):
        chosen = self.of(*heads)  # always drawn, so that head_name does not change later draws
        return self.head_name or chosen

    def random_ids(self, rows, columns):
        return numpy.array([[self.random.randrange(self.vocabulary) for _ in range(columns)] for _ in range(rows)], numpy.int32)

    def bert(self, **more):
        act = self.of("gelu", "relu", "gelu_new", "silu")
        return dict(vocab_size=self.vocabulary, hidden_size=self.size, num_hidden_layers=self.layers, num_attention_heads=self.heads,
                    intermediate_size=self.ffn, max_position_embeddings=self.positions, hidden_act=act, layer_norm_eps=self.norm) | more

    def decoder(self, **more):
        shared = self.of(*[n for n in range(1, self.heads + 1) if self.heads % n == 0])
        return dict(vocab_size=self.vocabulary, hidden_size=2 * self.random.randint(6, 25), num_hidden_layers=self.layers,
                    num_attention_heads=self.heads, num_key_value_heads=shared, head_dim=self.head, intermediate_size=self.ffn,
                    rms_norm_eps=self.norm, pad_token_id=0, bos_token_id=1, eos_token_id=2, rope_theta=self.of(100.0, 10000.0),
                    attn_implementation="eager") | more

    def shared_rows(self):
        """Rows that heads could share, which some classes check although their heads have a size of their own."""
        return dict(hidden_size=self.heads * 2 * self.random.randint(2, 8))

    def vision(self, **more):
        patch = self.random.randint(2, 5)
        return dict(hidden_size=self.size, num_hidden_layers=self.layers, num_attention_heads=self.heads, intermediate_size=self.ffn,
                    image_size=patch * self.random.randint(2, 4), patch_size=patch, layer_norm_eps=self.norm,
                    hidden_act=self.of("gelu", "gelu_new")) | more


def head_of(choice, name, heads, config_class, config, **case):
    """A model with one of the heads that its family has."""
    head = choice.head_of(heads)
    if "Classification" in head:
        config = config | dict(num_labels=choice.classes)
    made = config_class(**config)
    if head == "Model":
        model_class = getattr(hf, name + "Model")
        pools = "add_pooling_layer" in model_class.__init__.__code__.co_varnames
        model = model_class(made, add_pooling_layer=False) if pools else model_class(made)
    else:
        model = getattr(hf, name + head)(made)
    if head in ("ForCausalLM", "LMHeadModel"):
        return make.decoder_case(model)
    return make.image_case(model, 1) if case.get("image") else make.text_case(model, **case)


def with_heads(heads, make_case):
    make_case.heads = heads
    return make_case


TEXT_HEADS = ["Model", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMaskedLM"]


def bert_like(name, roberta=False, heads=TEXT_HEADS, **more):
    def make_case(choice):
        types = 1 if roberta or "type_vocab_size" in more else choice.of(1, 2, 3)
        config = choice.bert(type_vocab_size=types, **{k: v(choice) for k, v in more.items() if k != "type_vocab_size"})
        if roberta:
            config.update(pad_token_id=1)
        return head_of(choice, name, heads, getattr(hf, name + "Config"), config, padding=int(roberta),
                       types=types if types > 1 else 0)
    return with_heads(heads, make_case)


def distilbert(c):
    config = dict(vocab_size=c.vocabulary, dim=c.size, n_layers=c.layers, n_heads=c.heads, hidden_dim=c.ffn,
                  max_position_embeddings=c.positions, activation=c.of("gelu", "relu"), sinusoidal_pos_embds=False)
    return head_of(c, "DistilBert", TEXT_HEADS, hf.DistilBertConfig, config)


def albert(c):
    layers = c.random.randint(2, 4)
    config = c.bert(embedding_size=c.random.randint(5, 40), num_hidden_layers=layers, num_hidden_groups=c.of(1, 2), type_vocab_size=2,
                    inner_group_num=1)
    return head_of(c, "Albert", TEXT_HEADS, hf.AlbertConfig, config, types=2)


def modernbert(c):
    config = dict(make.MODERN, vocab_size=c.vocabulary, hidden_size=c.size, num_hidden_layers=c.layers, num_attention_heads=c.heads,
                  intermediate_size=c.ffn, local_attention=2 * c.random.randint(1, 5), global_attn_every_n_layers=c.random.randint(1, 3),
                  classifier_pooling=c.of("cls", "mean"), max_position_embeddings=c.positions, norm_eps=1e-5)
    return head_of(c, "ModernBert", TEXT_HEADS, hf.ModernBertConfig, config)


def deberta(c):
    terms = c.of(["c2p"], ["p2c"], ["c2p", "p2c"], "p2c|c2p")
    config = c.bert(relative_attention=c.of(True, True, False), pos_att_type=terms, share_att_key=c.of(True, False),
                    position_buckets=c.of(-1, 4, 8), max_relative_positions=c.of(-1, 12), norm_rel_ebd=c.of("none", "layer_norm"),
                    position_biased_input=c.of(True, False), pooler_hidden_size=c.size, type_vocab_size=0)
    return head_of(c, "DebertaV2", TEXT_HEADS, hf.DebertaV2Config, config)


def qwen3(c):
    config = c.decoder(max_position_embeddings=64, attention_bias=c.of(True, False), tie_word_embeddings=c.of(True, False))
    if c.of(True, False):
        config.update(use_sliding_window=True, sliding_window=c.random.randint(2, 6), max_window_layers=c.of(0, 1))
    return config


GEMMA3_HEADS = ["ForCausalLM", "Model"]


def gemma3(c):
    kinds = [c.of("sliding_attention", "full_attention") for _ in range(c.layers)]
    config = c.decoder(**c.shared_rows(), max_position_embeddings=64, query_pre_attn_scalar=c.random.randint(3, 40), layer_types=kinds, bos_token_id=2,
                       eos_token_id=1, sliding_window=c.random.randint(3, 7), rope_local_base_freq=100.0,
                       rope_scaling=c.of(None, dict(rope_type="linear", factor=3.0)))
    if c.head_of(GEMMA3_HEADS) == "ForCausalLM":
        return make.decoder_case(hf.Gemma3ForCausalLM(hf.Gemma3TextConfig(**config)))
    config.update(use_bidirectional_attention=c.of(True, False))
    return make.text_case(hf.Gemma3TextModel(hf.Gemma3TextConfig(**config)))


def gemma3_images(c):
    """A folder with a part for images, whose texts alone are read."""
    text = c.decoder(**c.shared_rows(), max_position_embeddings=64, sliding_window=c.random.randint(3, 7), vocab_size=67)
    config = hf.Gemma3Config(text_config=text, vision_config=make.SIGLIP, attn_implementation="eager", mm_tokens_per_image=4,
                             image_token_index=66, boi_token_index=65, eoi_token_index=64)
    return make.decoder_case(hf.Gemma3ForConditionalGeneration(config), words=64)


def native(name, config):
    """A family that older folders have code of their own for, as Transformers 5 has it."""
    heads = [head for head in TEXT_HEADS if hasattr(hf, name + head)]
    rope = lambda c: {"rope_parameters": {"rope_type": "default", "rope_theta": c.of(100.0, 1000.0)}}
    return with_heads(heads, lambda c: head_of(c, name, heads, getattr(hf, name + "Config"), config(c) | rope(c)))


def eurobert(c):
    config = c.decoder(**c.shared_rows(), max_position_embeddings=32, clf_pooling=c.of("late", "bos", "mean"))
    return {key: value for key, value in config.items() if key not in ("rope_theta", "attn_implementation")}


def causal(name, config, head="ForCausalLM", others=("Model", *TEXT_HEADS[1:4])):
    """A decoder, or its rows with another head that its class has; `config` makes its configuration of a Choice."""
    known = [other for other in others if hasattr(hf, name + other)]
    heads = [head] * max(1, len(known)) + known  # half of the draws are decoders

    def make_case(c):
        return head_of(c, name, heads, getattr(hf, name + "Config"), config(c))
    return with_heads(list(dict.fromkeys(heads)), make_case)


def windows(c, **more):
    return c.of({}, dict(sliding_window=c.random.randint(2, 7), **more))


def square(c, without=(), **more):
    """Heads that fill the rows, of a multiple of 4 features, so that a half of them can be rotated; `without` keys that are unknown."""
    c.head = 4 * c.random.randint(1, 5)
    config = c.decoder(hidden_size=c.heads * c.head, max_position_embeddings=c.positions) | more
    return {key: value for key, value in config.items() if key not in ("head_dim", *without)}


def old_names(c, **more):
    """What GPT-2 and its kin call the sizes."""
    return dict(vocab_size=c.vocabulary, bos_token_id=1, eos_token_id=2, attn_implementation="eager") | more


def phi3(c):
    config = square(c, **windows(c), original_max_position_embeddings=c.of(6, 40))
    pairs = c.head // 2
    factors = lambda: [1 + 3 * c.random.random() for _ in range(pairs)]
    long = dict(type="longrope", short_factor=factors(), long_factor=factors())
    # max_position_embeddings selects the factors. Where it selects the short ones, no text is
    # longer than the original limit.
    config.update(rope_scaling=c.of(None, long), max_position_embeddings=c.of(30, 40))
    return config


def opt(c):
    config = square(c, ("intermediate_size", "num_key_value_heads", "rms_norm_eps", "rope_theta"), ffn_dim=c.ffn,
                    do_layer_norm_before=c.of(True, False), activation_function=c.of("relu", "gelu"))
    return config | dict(word_embed_proj_dim=c.of(config["hidden_size"], 14))


def falcon(c):
    kind = c.of(dict(new_decoder_architecture=True, num_ln_in_parallel_attn=c.of(None, 1, 2)),
                dict(multi_query=True, parallel_attn=c.of(True, False)),
                dict(multi_query=False, parallel_attn=c.of(True, False), alibi=c.of(True, False)))
    # Falcon rounds the slopes of ALiBi to bf16. With these head counts they are powers of two.
    c.heads = c.of(1, 2, 4)
    if "new_decoder_architecture" in kind:
        kind.update(num_kv_heads=c.of(*[n for n in (1, 2, 4) if c.heads % n == 0]))
    if kind.get("alibi"):
        kind.update(attn_implementation="sdpa")  # the eager implementation adds the slopes twice
    return square(c, ("intermediate_size", "num_key_value_heads", "rms_norm_eps"), **kind, bias=c.of(True, False), ffn_hidden_size=c.ffn)


def glm4(c):
    return square(c, attention_bias=c.of(True, False), partial_rotary_factor=c.of(0.5, 1.0)) | dict(head_dim=c.head)


def gpt2(c):
    return old_names(c, n_embd=c.size, n_head=c.heads, n_layer=c.layers, n_positions=c.positions, n_inner=c.of(None, c.ffn),
                     scale_attn_by_inverse_layer_idx=c.of(True, False))


def gemma2(c):
    return c.decoder(**c.shared_rows(), query_pre_attn_scalar=c.random.randint(3, 40), sliding_window=c.random.randint(3, 7),
                     attn_logit_softcapping=c.of(None, 2.0), final_logit_softcapping=c.of(None, 3.0), max_position_embeddings=64)


def smollm3(c):
    return square(c, no_rope_layer_interval=c.of(2, 3), attention_bias=c.of(True, False), mlp_bias=c.of(True, False),
                  bos_token_id=1, eos_token_id=2, **c.of({}, dict(use_sliding_window=True, sliding_window=4)))


def exaone4(c):
    return square(c, sliding_window=c.random.randint(2, 7), sliding_window_pattern=c.of(2, 3))


def llama(c):
    scalings = [None, make.LLAMA3, make.YARN, dict(rope_type="linear", factor=3.0),
                dict(make.YARN, mscale=0.7, mscale_all_dim=1.2, beta_fast=2.0)]
    return c.decoder(**c.shared_rows(), rope_scaling=c.of(*scalings), mlp_bias=c.of(True, False), max_position_embeddings=32)


def stablelm(c):
    parallel = c.of(True, False)
    return square(c, use_qkv_bias=c.of(True, False), use_parallel_residual=parallel, qk_layernorm=c.of(True, False),
                  layer_norm_eps=c.norm, partial_rotary_factor=c.of(0.5, 1.0))


def granite(c):
    return square(c, embedding_multiplier=2.0, attention_multiplier=0.3, residual_multiplier=c.of(1.0, 0.5),
                  logits_scaling=c.of(1.0, 3.0), tie_word_embeddings=c.of(True, False), mlp_bias=c.of(True, False))


def sliding(c, **more):
    """Layers that alternate between a window and none."""
    return dict(layer_types=[c.of("sliding_attention", "full_attention") for _ in range(c.layers)], sliding_window=c.random.randint(2, 7)) | more


def gpt_names(c, **more):
    """GPT-2's names for a family whose heads have a multiple of 4 features."""
    c.head = 4 * c.random.randint(1, 5)
    return old_names(c, n_embd=c.heads * c.head, n_head=c.heads, n_layer=c.layers, n_positions=c.positions, n_inner=c.of(None, c.ffn)) | more


def gpt_neo(c):
    c.layers = 2
    return old_names(c, hidden_size=c.size, num_heads=c.heads, num_layers=2, intermediate_size=c.of(None, c.ffn), window_size=c.random.randint(2, 6),
                     max_position_embeddings=c.positions, attention_types=[[[c.of("global", "local"), "local"], 1]])


def xglm(c):
    return old_names(c, d_model=c.size, ffn_dim=c.ffn, num_layers=c.layers, attention_heads=c.heads, max_position_embeddings=c.positions,
                     scale_embedding=c.of(True, False), activation_function=c.of("gelu", "relu"))


def biogpt(c):
    return c.bert(pad_token_id=1, bos_token_id=0, eos_token_id=2, scale_embedding=c.of(True, False), attn_implementation="eager")


def experts(c, **more):
    """A decoder whose sizes are multiples of 16, as its experts require."""
    count = c.random.randint(3, 7)
    return c.decoder(hidden_size=16 * c.random.randint(1, 4), intermediate_size=16 * c.random.randint(1, 4), max_position_embeddings=64,
                     num_experts=count, num_experts_per_tok=c.random.randint(1, min(3, count))) | more


def mixed(c, **more):
    """A mixture of experts after some layers without experts."""
    return experts(c, moe_intermediate_size=16 * c.random.randint(1, 3), norm_topk_prob=c.of(True, False)) | more


def without_heads(config, **renamed):
    """Removes the size of the heads, for a class that has none of its own; `renamed` gives keys another name."""
    return {renamed.get(key, key): value for key, value in config.items() if key != "head_dim"}


def filled(c, config):
    """Rows of the model that heads of equal size fill."""
    heads = c.of(1, 2, 4)
    return without_heads(config) | dict(num_attention_heads=heads, num_key_value_heads=c.of(*[n for n in (1, 2, 4) if heads % n == 0]))


def qwen2_moe(c):
    config = filled(c, mixed(c, qkv_bias=c.of(True, False), decoder_sparse_step=c.of(1, 2), max_window_layers=c.of(1, 28)))
    shared = config["moe_intermediate_size"] * c.random.randint(1, 2)
    return config | dict(shared_expert_intermediate_size=shared) | windows(c, use_sliding_window=True)


def qwen3_moe(c):
    return mixed(c, decoder_sparse_step=c.of(1, 2), mlp_only_layers=c.of([], [0])) | windows(c, use_sliding_window=True)


def granite_moe(c, **more):
    config = without_heads(filled(c, experts(c)), num_experts="num_local_experts")
    return config | dict(embedding_multiplier=2.0, attention_multiplier=0.3, residual_multiplier=c.of(1.0, 0.5), logits_scaling=c.of(1.0, 3.0)) | more


def ernie_moe(c):
    c.layers = 2
    config = mixed(c, use_bias=c.of(True, False), moe_layer_start_index=c.of(0, 1))
    names = dict(num_experts="moe_num_experts", num_experts_per_tok="moe_k")
    return {names.get(key, key): value for key, value in config.items() if key != "norm_topk_prob"}


def glm4_moe(c):
    c.layers = 2
    config = mixed(c, n_shared_experts=c.of(1, 2), routed_scaling_factor=c.of(1.0, 1.5), use_qk_norm=c.of(True, False),
                   first_k_dense_replace=c.of(0, 1), partial_rotary_factor=1.0)
    groups = c.of(1, *[n for n in (2, 3) if config["num_experts"] % n == 0 and config["num_experts"] > n])
    used = groups if config["num_experts_per_tok"] > config["num_experts"] // groups else c.random.randint(1, groups)
    config |= dict(n_group=groups, topk_group=used)
    return {"n_routed_experts" if key == "num_experts" else key: value for key, value in config.items()}


def phimoe(c):
    config = without_heads(filled(c, experts(c)), num_experts="num_local_experts") | dict(
        num_experts_per_tok=2, router_jitter_noise=c.of(0.01, 0.2), attention_bias=c.of(True, False), lm_head_bias=c.of(True, False))
    factors = [1 + pair / 8 for pair in range(config["hidden_size"] // config["num_attention_heads"] // 2)]
    longer = dict(rope_type="longrope", short_factor=factors, long_factor=factors, short_mscale=1.1, long_mscale=1.3,
                  original_max_position_embeddings=64)
    return config | c.of({}, dict(rope_scaling=longer))


def gpt_oss(c):
    config = experts(c, layer_types=[c.of("sliding_attention", "full_attention") for _ in range(c.layers)], sliding_window=c.random.randint(2, 7),
                     attention_bias=c.of(True, False), swiglu_limit=c.of(1.0, 7.0))
    yarn = dict(make.YARN, truncate=c.of(True, False))
    config |= dict(rope_scaling=c.of(yarn, dict(rope_type="default")))
    return {"num_local_experts" if key == "num_experts" else key: value for key, value in config.items()}


def ministral3(c):
    config = c.decoder(max_position_embeddings=64)
    return {key: value for key, value in config.items() if key != "rope_theta"} | dict(sliding_window=None, rope_parameters=dict(
        make.YARN, rope_theta=config["rope_theta"], original_max_position_embeddings=16, llama_4_scaling_beta=c.of(0.0, 0.1), mscale=1.0,
        mscale_all_dim=c.of(0.0, 1.0)))


def mistral3(c):
    """As gemma3_images()."""
    text = ministral3(c) | dict(model_type="ministral3", vocab_size=67)
    vision = dict(make.SIGLIP, model_type="pixtral", head_dim=6, num_channels=3)
    return make.decoder_case(hf.Mistral3ForConditionalGeneration(hf.Mistral3Config(
        text_config=text, vision_config=vision, image_token_index=66, spatial_merge_size=1, attn_implementation="eager",
        tie_word_embeddings=False)), words=64)


def t5gemma(c):
    """Stacks of other layers and heads, and of the same rows."""
    width = c.shared_rows()
    stack = lambda: c.decoder(**width, query_pre_attn_scalar=c.random.randint(3, 40), sliding_window=c.random.randint(3, 7),
                              attn_logit_softcapping=c.of(None, 2.0), final_logit_softcapping=c.of(None, 3.0), max_position_embeddings=64)
    return make.translating_case(hf.T5GemmaForConditionalGeneration(hf.T5GemmaConfig(
        encoder=stack(), decoder=stack(), vocab_size=c.vocabulary, attn_implementation="eager")), 0)


def hunyuan_moe(c):
    config = experts(c)
    return {"moe_topk" if key == "num_experts_per_tok" else key: value for key, value in config.items()}


CLIP_HEADS = ["Model", "ModelWithProjection"]


def clip_text(c):
    config = c.bert(projection_dim=c.random.randint(4, 40), pad_token_id=1, bos_token_id=0, eos_token_id=c.vocabulary - 1)
    return ended(getattr(hf, "CLIPText" + c.head_of(CLIP_HEADS))(hf.CLIPTextConfig(**config)), c)


def clip(c, name="CLIP"):
    """Both halves in one folder; inputs and results are those of the texts, whose row is that of their end."""
    text = c.bert(pad_token_id=1, bos_token_id=0, eos_token_id=c.vocabulary - 1)
    config = getattr(hf, name + "Config")(text_config=text, vision_config=c.vision(), projection_dim=c.random.randint(4, 40))
    return ended(getattr(hf, name + "Model")(config), c)

def ended(model, c):
    """A case whose texts have an end, at which their row is."""
    inputs = make.text_inputs(c.vocabulary - 1, 1, 1)
    for row, length in enumerate(make.LENGTHS):
        inputs["source"][row, length - 1] = c.vocabulary - 1
    return model, inputs, make.results_of(make.randomised(model, 1), inputs)


def siglip(c):
    """As clip(); texts are filled to their maximum length, and their row is the last. With a head, the classes of images."""
    head = c.head_of(IMAGE_HEADS)
    text = c.bert(pad_token_id=1, bos_token_id=0, eos_token_id=c.vocabulary - 1, projection_size=c.random.randint(4, 40))
    config = hf.SiglipConfig(text_config=text, vision_config=c.vision(), num_labels=c.classes)
    if head != "Model":
        model, size = make.randomised(hf.SiglipForImageClassification(config), 1), config.vision_config.image_size
        inputs = {"source": numpy.random.default_rng(1).standard_normal((2, 3, size, size)).astype(numpy.float32)}
        return model, inputs, make.results_of(model, inputs)
    model = make.randomised(hf.SiglipModel(config), 1)
    ids = c.random_ids(3, c.positions)
    inputs = {"source": ids, "source.lengths": numpy.full(3, c.positions, numpy.int32)}
    return model, inputs, make.results_of(model, inputs)


def siglip_vision(c):
    return make.image_case(hf.SiglipVisionModel(hf.SiglipVisionConfig(**c.vision())))


def clip_vision(c):
    config = hf.CLIPVisionConfig(**c.vision(projection_dim=c.random.randint(4, 40)))
    return make.image_case(getattr(hf, "CLIPVision" + c.head_of(CLIP_HEADS))(config))


IMAGE_HEADS = ["Model", "ForImageClassification"]


def images(name, **more):
    return with_heads(IMAGE_HEADS, lambda c: head_of(c, name, IMAGE_HEADS, getattr(hf, name + "Config"),
                                                     c.vision(**{k: v(c) for k, v in more.items()}), image=True))


def whisper(c):
    heads = c.of(*[n for n in range(1, 5) if c.size % n == 0])
    return make.speech_case(hf.WhisperForConditionalGeneration(hf.WhisperConfig(
        vocab_size=c.vocabulary, d_model=c.size, encoder_layers=c.layers, decoder_layers=c.of(1, 2), encoder_attention_heads=c.heads,
        decoder_attention_heads=heads, encoder_ffn_dim=c.ffn, decoder_ffn_dim=c.ffn + 3, num_mel_bins=c.random.randint(3, 90),
        max_source_positions=c.random.randint(4, 40), max_target_positions=c.positions, activation_function=c.of("gelu", "gelu", "relu"),
        pad_token_id=2, bos_token_id=2, eos_token_id=2, decoder_start_token_id=3, scale_embedding=c.of(True, False),
        attn_implementation="eager")))


def dinov2(c):
    config = c.vision(mlp_ratio=c.random.randint(1, 3), use_swiglu_ffn=c.of(True, False))
    del config["intermediate_size"]
    return head_of(c, "Dinov2", IMAGE_HEADS, hf.Dinov2Config, config, image=True)


def of_plain(prefix):
    """A family without a class in Transformers 4: plain.py's loops, with other sizes. Its heads are names of these cases."""
    names = [case for case in plain.CASES if case.split("-")[0] == prefix]

    def make_case(c):
        name = c.head_of(names)
        config, kind, function = plain.CASES[name]
        sizes = {"n_embd": c.size, "n_head": c.heads, "n_inner": c.ffn, "n_layer": c.layers, "hidden_size": c.size,
                 "num_attention_heads": c.heads, "num_key_value_heads": c.heads, "intermediate_size": c.ffn,
                 "num_hidden_layers": c.layers, "vocab_size": c.vocabulary // 4 * 4, "head_dim": c.head}
        changed = dict(config, **{key: value for key, value in sizes.items() if key in config})
        plain.CASES[name] = (changed, kind, function)
        return make.plain_case(name)
    return with_heads(names, make_case)


FAMILIES = {
    "bert": bert_like("Bert"),
    "roberta": bert_like("Roberta", roberta=True),
    "xlm-roberta": bert_like("XLMRoberta", roberta=True),
    "camembert": bert_like("Camembert", roberta=True),
    "distilbert": with_heads(TEXT_HEADS, distilbert),
    "mpnet": bert_like("MPNet", roberta=True),
    "electra": bert_like("Electra", embedding_size=lambda c: c.random.randint(5, 40)),
    "albert": with_heads(TEXT_HEADS, albert),
    "ernie": bert_like("Ernie", use_task_id=lambda c: c.of(True, False)),
    "megatron-bert": bert_like("MegatronBert"),
    "roberta-prelayernorm": bert_like("RobertaPreLayerNorm", roberta=True),
    "modernbert": with_heads(TEXT_HEADS, modernbert),
    "deberta-v2": with_heads(TEXT_HEADS, deberta),
    "nomic_bert": of_plain("nomic"),
    "new": of_plain("new"),
    "eurobert": of_plain("eurobert"),
    "qwen3": causal("Qwen3", qwen3),
    "gemma3_text": with_heads(GEMMA3_HEADS, gemma3),
    "llama": causal("Llama", llama),
    "mistral": causal("Mistral", lambda c: c.decoder(**windows(c), max_position_embeddings=32)),
    "qwen2": causal("Qwen2", lambda c: square(c, **windows(c, use_sliding_window=True, max_window_layers=0))),
    "gemma2": causal("Gemma2", gemma2),
    "phi3": causal("Phi3", phi3),
    "gpt2": causal("GPT2", gpt2, "LMHeadModel", others=()),
    "smollm3": causal("SmolLM3", smollm3),
    "gemma": causal("Gemma", lambda c: c.decoder(max_position_embeddings=32)),
    "falcon": causal("Falcon", falcon, others=()),
    "gpt_neox": causal("GPTNeoX", lambda c: square(
        c, ("num_key_value_heads", "rms_norm_eps", "rope_theta"), rotary_pct=c.of(0.5, 1.0), rotary_emb_base=c.of(100, 10000),
        use_parallel_residual=c.of(True, False)), others=()),
    "opt": causal("OPT", opt, others=()),
    "bloom": causal("Bloom", lambda c: old_names(c, hidden_size=c.size, n_layer=c.layers, n_head=c.heads, pad_token_id=0), others=()),
    "olmo2": causal("Olmo2", lambda c: square(c, attention_bias=c.of(True, False))),
    "starcoder2": causal("Starcoder2", lambda c: square(c, use_bias=c.of(True, False), norm_epsilon=c.norm, **windows(c))),
    "granite": causal("Granite", granite),
    "cohere": causal("Cohere", lambda c: square(c, use_qk_norm=c.of(True, False), logit_scale=c.of(0.5, 0.0625))),
    "stablelm": causal("StableLm", stablelm),
    "nemotron": causal("Nemotron", lambda c: square(c, mlp_bias=c.of(True, False), partial_rotary_factor=c.of(0.5, 1.0))),
    "phi": causal("Phi", lambda c: square(c, qk_layernorm=c.of(True, False), partial_rotary_factor=c.of(0.5, 1.0))),
    "mpt": causal("Mpt", lambda c: old_names(c, d_model=c.size, n_heads=c.heads, n_layers=c.layers, max_seq_len=32, pad_token_id=0), others=()),
    "glm4": causal("Glm4", glm4),
    "exaone4": causal("Exaone4", exaone4),
    "ernie4_5": causal("Ernie4_5", lambda c: c.decoder(use_bias=c.of(True, False), max_position_embeddings=32)),
    "xlm-roberta-xl": bert_like("XLMRobertaXL", roberta=True),
    "data2vec-text": bert_like("Data2VecText", roberta=True),
    "rembert": bert_like("RemBert", heads=TEXT_HEADS[:-1], input_embedding_size=lambda c: c.random.randint(5, 40)),
    "bert-generation": with_heads(["ForCausalLM"], lambda c: head_of(
        c, "BertGenerationDecoder", [""], hf.BertGenerationConfig, c.bert(is_decoder=True))),
    "roformer": bert_like("RoFormer", embedding_size=lambda c: c.random.randint(5, 40)),
    "seed_oss": causal("SeedOss", lambda c: c.decoder(max_position_embeddings=64, attention_bias=c.of(True, False))),
    "arcee": causal("Arcee", lambda c: square(c, attention_bias=c.of(True, False), mlp_bias=c.of(True, False))),
    "helium": causal("Helium", lambda c: square(c) | dict(head_dim=c.head)),
    "olmo": causal("Olmo", lambda c: square(c, ("rms_norm_eps",))),
    "olmo3": causal("Olmo3", lambda c: square(c, **sliding(c))),
    "glm": causal("Glm", glm4),
    "cohere2": causal("Cohere2", lambda c: square(c, ("rms_norm_eps",), layer_norm_eps=c.norm, logit_scale=c.of(0.5, 0.0625), **sliding(c))),
    "hunyuan_v1_dense": causal("HunYuanDenseV1", lambda c: c.decoder(max_position_embeddings=64)),
    "vaultgemma": causal("VaultGemma", lambda c: c.decoder(
        **c.shared_rows(), **sliding(c), query_pre_attn_scalar=c.random.randint(3, 40), max_position_embeddings=64)),
    "gptj": causal("GPTJ", lambda c: gpt_names(c, rotary_dim=4), others=()),
    "codegen": causal("CodeGen", lambda c: gpt_names(c, n_head=4, n_embd=16 * c.random.randint(1, 4), rotary_dim=4), others=()),
    "gpt_neo": causal("GPTNeo", gpt_neo, others=()),
    "gpt_bigcode": causal("GPTBigCode", lambda c: gpt_names(c), others=()),
    "xglm": causal("XGLM", xglm, others=()),
    "biogpt": causal("BioGpt", biogpt, others=()),
    "persimmon": causal("Persimmon", lambda c: square(
        c, ("num_key_value_heads", "rms_norm_eps"), qk_layernorm=c.of(True, False), partial_rotary_factor=c.of(0.5, 1.0)), others=()),
    "mixtral": causal("Mixtral", lambda c: without_heads(filled(c, experts(c)), num_experts="num_local_experts") | windows(c), others=()),
    "qwen2_moe": causal("Qwen2Moe", qwen2_moe, others=()),
    "qwen3_moe": causal("Qwen3Moe", qwen3_moe, others=()),
    "olmoe": causal("Olmoe", lambda c: filled(c, experts(c, norm_topk_prob=c.of(True, False))), others=()),
    "flex_olmo": causal("FlexOlmo", lambda c: filled(c, experts(c, norm_topk_prob=c.of(True, False))), others=()),
    "granitemoe": causal("GraniteMoe", granite_moe, others=()),
    "granitemoeshared": causal("GraniteMoeShared", lambda c: granite_moe(c, intermediate_size=16, shared_intermediate_size=16 * c.of(0, 1, 2)), others=()),
    "ernie4_5_moe": causal("Ernie4_5_Moe", ernie_moe, others=()),
    "glm4_moe": causal("Glm4Moe", glm4_moe, others=()),
    "hunyuan_v1_moe": causal("HunYuanMoEV1", hunyuan_moe, others=()),
    "phimoe": causal("Phimoe", phimoe, others=()),
    "gpt_oss": causal("GptOss", gpt_oss, others=()),
    "clip": with_heads(["Model"], clip),
    "siglip": with_heads(IMAGE_HEADS, siglip),
    "siglip_vision_model": with_heads(["Model"], siglip_vision),
    "gemma3": with_heads(["ForConditionalGeneration"], gemma3_images),
    "clip_text_model": with_heads(CLIP_HEADS, clip_text),
    "clip_vision_model": with_heads(CLIP_HEADS, clip_vision),
    "vit": images("ViT", qkv_bias=lambda c: c.of(True, False)),
    "deit": images("DeiT", qkv_bias=lambda c: c.of(True, False)),
    "dinov2": with_heads(IMAGE_HEADS, dinov2),
    "vit_msn": images("ViTMSN", qkv_bias=lambda c: c.of(True, False)),
    "ijepa": images("IJepa", qkv_bias=lambda c: c.of(True, False)),
    "whisper": with_heads(["ForConditionalGeneration"], whisper),
}
for family, name, more in (("cwm", "Cwm", sliding), ("ministral", "Ministral", sliding), ("jais2", "Jais2", lambda c: {})):
    if hasattr(hf, name + "ForCausalLM"):  # of Transformers 5
        FAMILIES[family] = causal(name, lambda c, more=more: square(
            c, ("rope_theta",), rope_parameters=dict(rope_type="default", rope_theta=c.of(100.0, 10000.0)), **more(c)) | dict(head_dim=c.head))
if hf.__version__ >= "5":  # before, the classes of these give no vectors of texts, and none with stacks of other heads
    FAMILIES["chinese_clip"] = with_heads(["Model"], lambda c: clip(c, "ChineseCLIP"))
    FAMILIES["t5gemma"] = with_heads(["ForConditionalGeneration"], t5gemma)
if hasattr(hf, "MetaClip2Model"):
    FAMILIES["metaclip_2"] = with_heads(["Model"], lambda c: clip(c, "MetaClip2"))
if hasattr(hf, "ApertusForCausalLM"):
    FAMILIES["apertus"] = causal("Apertus", lambda c: square(c, attention_bias=c.of(True, False)), others=())
if hasattr(hf, "NanoChatForCausalLM"):
    FAMILIES["nanochat"] = causal("NanoChat", lambda c: square(c, final_logit_softcapping=c.of(None, 3.0)), others=())
if hasattr(hf, "Ministral3ForCausalLM"):
    FAMILIES["ministral3"] = causal("Ministral3", ministral3, others=())
    FAMILIES["mistral3"] = with_heads(["ForConditionalGeneration"], mistral3)
if hasattr(hf, "GteModel"):
    FAMILIES |= {
        "gte": native("Gte", lambda c: c.bert(type_vocab_size=c.of(1, 2))),
        "nomic_bert of Transformers 5": native("NomicBert", lambda c: c.bert(hidden_act="silu")),
        "eurobert of Transformers 5": native("EuroBert", eurobert),
    }
make.without_start(hf.StableLmForCausalLM)
